"""A table before it is formatted, and its formats: text, Markdown, LaTeX and HTML."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Literal

Style = Literal["text", "markdown", "latex", "html"]


@dataclass(frozen=True)
class Grid:
    """A table before it is formatted.

    Attributes
    ----------
    title : str
        Title.
    heads : tuple of str
        Column headings.
    lines : tuple
        For each line its name and its cells, each a text and whether it is bold.
    """

    title: str
    heads: tuple[str, ...]
    lines: tuple[tuple[str, tuple[tuple[str, bool], ...]], ...]

    def draw(self, style: Style) -> str:
        """Format the table.

        Parameters
        ----------
        style : {"text", "markdown", "latex", "html"}
            Format.

        Returns
        -------
        str
            The table.
        """
        if style not in _STYLES:
            raise ValueError(f"there is no style {style!r}; choose one of {', '.join(_STYLES)}")
        return _STYLES[style](self)


def _text(grid: Grid) -> str:
    marked = [
        [name, *(f"{text}*" if bold else f"{text} " for text, bold in line)] for name, line in grid.lines
    ]
    body = [["", *(f"{head} " for head in grid.heads)], *marked]
    first, *others = [max(map(len, column)) for column in zip(*body, strict=True)]
    aligned = [
        "  ".join(
            [name.ljust(first), *(cell.rjust(w) for cell, w in zip(line, others, strict=True))]
        ).rstrip()
        for name, *line in body
    ]
    return "\n".join([grid.title, *aligned])


def _markdown(grid: Grid) -> str:
    head = [f"| | {' | '.join(grid.heads)} |", f"|---|{'---:|' * len(grid.heads)}"]
    lines = [
        f"| {_markdown_name(name)} | {' | '.join(f'**{text}**' if bold else text for text, bold in line)} |"
        for name, line in grid.lines
    ]
    return "\n".join([grid.title, "", *head, *lines])


def _markdown_name(name: str) -> str:
    return "".join(f"\\{c}" if c in "_*|" else c for c in name)


def _latex(grid: Grid) -> str:
    heads = [_latex_safe(head) for head in grid.heads]
    lines = [
        " & ".join([_latex_name(name), *(_latex_cell(*cell) for cell in line)]) for name, line in grid.lines
    ]
    begin = rf"\begin{{tabular}}{{l{'c' * len(heads)}}}"
    body = [f"{line} \\\\" for line in (" & ".join(["", *heads]), *lines)]
    return "\n".join(
        [f"% {grid.title}", begin, r"\hline", body[0], r"\hline", *body[1:], r"\hline", r"\end{tabular}"]
    )


def _latex_cell(text: str, bold: bool) -> str:
    return rf"$\mathbf{{{_latex_math(text)}}}$" if bold else f"${_latex_math(text)}$"


def _latex_math(text: str) -> str:
    return text.replace("±", r"\pm").replace("–", r"\text{--}")


def _latex_name(name: str) -> str:
    base, _, low = name.partition("_")
    return rf"{_latex_safe(base)}$_{{\rm {_latex_safe(low)}}}$" if low else _latex_safe(base)


def _latex_safe(text: str) -> str:
    escaped = "".join(f"\\{c}" if c in "&%$#_{}" else c for c in text)
    for symbol, command in (("λ", r"$\lambda$"), ("α", r"$\alpha$"), ("²", "$^2$"), ("±", r"$\pm$")):
        escaped = escaped.replace(symbol, command)
    return escaped


def _html(grid: Grid) -> str:
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in grid.heads)
    lines = [
        f'<tr><th scope="row">{escape(name)}</th>{"".join(_html_cell(*cell) for cell in line)}</tr>'
        for name, line in grid.lines
    ]
    caption = f"<caption>{escape(grid.title)}</caption>"
    head = f"<thead><tr><td></td>{heads}</tr></thead>"
    return "\n".join(["<table>", caption, head, "<tbody>", *lines, "</tbody>", "</table>"])


def _html_cell(text: str, bold: bool) -> str:
    return f"<td><b>{escape(text)}</b></td>" if bold else f"<td>{escape(text)}</td>"


_STYLES: Mapping[str, Callable[[Grid], str]] = {
    "text": _text,
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
}
