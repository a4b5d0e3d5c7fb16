"""What is printed: results on stdout, everything else on stderr; and how a command fails."""

import functools
import inspect
import json
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from levelhead.cli import ending

CANNOT, UNEXPECTED = 1, 3  # exit codes; 2 is a wrong call, and signals have their own
_SECONDS_BETWEEN_LINES = 10.0  # if standard error is not a terminal
_EXPECTED = (ValueError, OSError, ImportError, ArithmeticError, MemoryError)

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback if there is an error.")]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command report an error in one line with an exit code; with --debug, with its traceback."""

    @functools.wraps(function)
    def run(*args: Any, debug: bool, **options: Any) -> None:
        try:
            with _notes():
                function(*args, **options)
        except (typer.Exit, typer.Abort, BrokenPipeError):  # typer handles a closed pipe
            raise
        except KeyboardInterrupt:
            _end(ending.Ended())
        except ending.Ended as end:
            _end(end)
        except Exception as error:
            if debug:
                raise
            expected = isinstance(error, _EXPECTED)
            hint = (
                ""
                if expected
                else f" ({type(error).__name__}; please run it again with --debug and report it)"
            )
            _fail(f"{_message(error)}{hint}", CANNOT if expected else UNEXPECTED)

    option = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Debug)
    given = inspect.signature(function)
    vars(run)["__signature__"] = given.replace(parameters=[*given.parameters.values(), option])
    run.__annotations__ = {**function.__annotations__, "debug": Debug}
    return run


def print_line(text: str) -> None:
    """Print a line of the result to stdout."""
    _console().print(_printable(text), markup=False, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Print a note to stderr."""
    _console(stderr=True).print(
        _printable(text), style="yellow", markup=False, highlight=False, soft_wrap=True
    )


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], words: Sequence[int] = ()
) -> None:
    """Print a table; columns are right-aligned, except the first and those in `words`."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for place, name in enumerate(columns):
        drawn.add_column(name, justify="right" if place and place not in words else "left")
    _show(title, drawn, rows)


def facts(title: str, pairs: Iterable[Sequence[object]]) -> None:
    """Print pairs of a name and a value."""
    drawn = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
    drawn.add_column(style="dim")
    drawn.add_column(overflow="fold")
    _show(title, drawn, pairs)


def _show(title: str, drawn: Table, rows: Iterable[Sequence[object]]) -> None:
    for row in rows:
        drawn.add_row(*(Text(_printable(str(cell))) for cell in row))
    console = _console()
    console.print(f"\n{title}", style="bold", markup=False, highlight=False)
    console.print(drawn)


def print_json(result: dict[str, Any]) -> None:
    """Print the result as one JSON object; numbers that are not finite become null."""
    sys.stdout.write(json.dumps(_json_ready(result), ensure_ascii=False, allow_nan=False) + "\n")


@contextmanager
def busy(text: str) -> Iterator[None]:
    """Show a spinner on a terminal while the work inside runs."""
    console = _console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(text):
        yield


@contextmanager
def bar(text: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar on a terminal; yields a function to call with the fraction that is done."""
    console = _console(stderr=True)
    if not console.is_terminal:
        yield lambda share: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(text, total=1.0)
        yield lambda share: progress.update(task, completed=share)


@contextmanager
def progress() -> Iterator[Callable[[str, float], None]]:
    """Show the stages of a long work: a bar for each on a terminal, elsewhere a line every ten seconds.

    Yields a function to call with a stage and the fraction that is done.
    """
    console = _console(stderr=True)
    if console.is_terminal:
        with _bars(console) as bars:
            yield bars
        return
    last, shown = time.monotonic(), ""

    def report(stage: str, share: float) -> None:
        nonlocal last, shown
        now = time.monotonic()
        if now - last >= _SECONDS_BETWEEN_LINES and (share < 1 or stage != shown):
            last, shown = now, stage
            note(f"{stage}: {share:.0%}" if share else stage)

    yield report


@contextmanager
def _bars(console: Console) -> Iterator[Callable[[str, float], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    shown, tasks = Progress(*columns, console=console, transient=True), dict[str, Any]()

    def report(stage: str, share: float) -> None:
        shown.start()  # only now: what fails before the first stage prints nothing else
        if stage not in tasks:
            tasks[stage] = shown.add_task(stage, total=1.0)
        shown.update(tasks[stage], completed=share)

    try:
        yield report
    finally:
        if tasks:
            shown.stop()


def _console(stderr: bool = False) -> Console:
    """Create a new console each time, because stdout and stderr may be redirected later."""
    stream = sys.stderr if stderr else sys.stdout
    # Names such as package:X: are no emoji.
    return Console(file=stream, width=None if stream.isatty() else 120, emoji=False)


def _fail(text: str, code: int) -> None:
    _console(stderr=True).print(
        _printable(f"levelhead: {text}"), style="red", markup=False, highlight=False, soft_wrap=True
    )
    raise typer.Exit(code)


def _end(end: ending.Ended) -> None:
    with suppress(OSError):  # the terminal may be gone
        _fail(str(end), 128 + end.number)
    raise typer.Exit(128 + end.number)


def _message(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        return " ".join(f"not enough memory: {error}; {ending.NO_MEMORY}".replace(": ;", ";").split())
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def _notes() -> Iterator[None]:
    """Print each warning once, as a note without file and line."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *rest: Any, **named: Any) -> None:
        if str(message) not in seen and not issubclass(category, DeprecationWarning):
            seen.add(str(message))
            note(f"note: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        vars(warnings)["showwarning"] = show
        yield


def _printable(text: str) -> str:
    """Replace control characters: text from a file must not control the terminal."""
    return "".join(c if c.isprintable() or c == "\n" else "�" for c in text)


def _json_ready(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _json_ready(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(part) for part in value]
    if hasattr(value, "tolist"):
        return _json_ready(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
