"""The frame of every page: styles, themes, figures, and a policy that forbids all requests.

A page is a Jinja template that extends `base.html`. All values are escaped: text from data stays text. Figures are
plotly figures or dictionaries `{"data": …, "layout": …}`. A colour such as `"var(--blue)"` is replaced by the colour of
the reader's theme (the names are in `assets/style.css`).

    panel = Panel("rmse", "Error", {"data": [{"y": [3, 1, 2]}]}, "RMSE without the most uncertain rows.")
    write(path, render("base.html", title="A study", summary="Three runs.", panels=[panel]))
"""

import base64
import functools
import hashlib
import importlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from levelhead._extras import needed
from levelhead._files import whole
from levelhead.report import encoding

ASSETS = Path(__file__).parent / "assets"
TEMPLATES = Path(__file__).parent / "templates"

_POLICY = "@@policy@@"  # stands in the template until the scripts that it must name are known
_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


@dataclass(frozen=True)
class Panel:
    """A card with a figure and an explanation.

    Attributes
    ----------
    name : str
        Id of the element: letters, digits and hyphens, unique in its page.
    title : str
        Heading.
    figure : plotly figure or dict
        A plotly figure, or a dictionary with its `data` and `layout`.
    text : str, default=""
        One or two sentences below the heading; plain text.
    wide : bool, default=False
        Whether the card has the full width of the page.
    height : int, default=320
        Height of the figure in pixels.
    """

    name: str
    title: str
    figure: Any
    text: str = ""
    wide: bool = False
    height: int = 320

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]*", self.name):
            raise ValueError(
                f"the name of a panel is {self.name!r}; use letters, digits and hyphens, with a letter first"
            )

    @property
    def json(self) -> str:
        """The figure as JSON, as the script of the page reads it."""
        figure = self.figure.to_plotly_json() if hasattr(self.figure, "to_plotly_json") else self.figure
        layout = {
            key: value for key, value in figure.get("layout", {}).items() if key != "template"
        }  # the page's
        return encoding.to_json({"data": figure.get("data", []), "layout": layout})


def render(
    template: str, *, title: str, panels: Sequence[Panel] = (), scripts: Sequence[str] = (), **context: Any
) -> str:
    """Render a page from a template.

    Parameters
    ----------
    template : str
        Name of the template; `base.html` shows `title`, `summary` and the panels.
    title : str
        Title of the page; plain text.
    panels : sequence of Panel, default=()
        Figures; a template may place some of them itself (`{{ macros.panel(panel) }}`).
    scripts : sequence of str, default=()
        Names of further scripts in `assets`, run in this order after `page.js`.
    **context
        Other values for the template.

    Returns
    -------
    str
        The HTML page.

    Raises
    ------
    ValueError
        If two panels have the same name.
    """
    names = [panel.name for panel in panels]
    if len(set(names)) < len(names):
        raise ValueError(f"panels must have different names; they are {', '.join(names)}")
    page: str = (
        _environment()
        .get_template(template)
        .render(title=title, panels=panels, scripts=["page.js", *scripts], policy=_POLICY, **context)
    )
    return page.replace(_POLICY, _policy(page), 1)


def write(path: str | Path, page: str, *, overwrite: bool = False) -> None:
    """Write a page to a file; if an error occurs, no partial file is left.

    Parameters
    ----------
    path : path-like
        File to write.
    page : str
        HTML page, from `render`.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Raises
    ------
    FileExistsError
        If the file exists and `overwrite` is False.
    """
    with whole(Path(path), overwrite=overwrite) as (partial,):
        partial.write_text(page, encoding="utf-8", errors="replace", newline="\n")


def plot_text(text: str) -> str:
    """Escape text from data for a figure, because plotly interprets HTML tags.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        The escaped text.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _policy(page: str) -> str:
    """A content security policy that allows only the scripts of this page and no requests."""
    scripts = [_hash(script) for script in _SCRIPT.findall(page)]
    hashes = " ".join(f"'sha256-{script}'" for script in [*scripts, _plotly().hash])
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


class _Packed(NamedTuple):
    packed: dict[str, Any]
    hash: str


@functools.cache
def _plotly() -> _Packed:
    """The script of plotly, compressed; the page unpacks it last, because it is large."""
    text: str = _needed("plotly.offline").get_plotlyjs()
    return _Packed(encoding.packed_text(text), _hash(text))


@functools.cache
def _environment() -> Any:
    jinja2 = _needed("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    markup = importlib.import_module("markupsafe").Markup
    environment.globals["style"] = lambda name: markup((ASSETS / name).read_text(encoding="utf-8"))
    environment.globals["script"] = lambda name: markup(_script((ASSETS / name).read_text(encoding="utf-8")))
    environment.globals["plotly"] = lambda: markup(encoding.to_json(_plotly().packed))
    environment.filters["embedded"] = lambda text: markup(text)  # what `encoding.to_json` has made safe
    return environment


def _script(text: str) -> str:
    """Check that a script does not end its element early, and use the line breaks that the browser hashes."""
    if re.search(r"</script|<!--", text, flags=re.IGNORECASE):
        raise ValueError("a script holds '</script' or '<!--', which would end it early")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _needed(module: str) -> Any:
    return needed(module, "a report", "report")
