"""The list of commands."""

from typing import Annotated

import typer

import levelhead
from levelhead.cli import flags
from levelhead.cli.apply import apply
from levelhead.cli.auditing import audit
from levelhead.cli.demo import demo
from levelhead.cli.doctor import doctor
from levelhead.cli.models import evaluate, fit, predict
from levelhead.cli.study import study_app

app = typer.Typer(
    cls=flags.Group,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"levelhead {levelhead.__version__}")
        raise typer.Exit


@app.callback()
def levelhead_(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Regression when some of the labels are wrong: find them, and predict without them.

    Start with `levelhead demo`. Then, for a table of your own:

    `levelhead audit flats.csv --target rent` — which labels are wrong?

    `levelhead fit flats.csv --target rent --out rent.levelhead` — a model that is robust against them

    Exit codes: 0 success, 1 failure (the message says why), 2 wrong usage, 3 unexpected error (a bug), 130 interrupted,
    129 and 143 terminated by SIGHUP and SIGTERM.
    """


_EXAMPLES = {
    demo: ["levelhead demo", "levelhead demo --seed 3 --out elsewhere"],
    audit: [
        "levelhead audit flats.csv --target rent",
        "levelhead audit flats.csv.gz -t rent --id-column id --drop comment --false-alarm-rate 0.1",
    ],
    apply: [
        "levelhead apply flats.csv decisions.csv --out clean.csv",
        "levelhead apply flats.csv anna.csv ben.csv -o clean.csv --on-conflict keep",
    ],
    fit: [
        "levelhead fit flats.csv --target rent --out rent.levelhead",
        "levelhead fit flats.parquet -t rent -o rent.levelhead --drop comment --time-budget 60",
    ],
    predict: [
        "levelhead predict rent.levelhead new.csv --out rents.csv",
        "levelhead predict rent.levelhead huge.parquet -o rents.parquet --id-column id --coverage 0.95",
    ],
    evaluate: [
        "levelhead evaluate rent.levelhead held-out.csv --target rent",
        "levelhead evaluate rent.levelhead held-out.csv -t rent --json",
    ],
    doctor: ["levelhead doctor", "levelhead doctor --json"],
}

for command, examples in _EXAMPLES.items():
    app.command(cls=flags.Command, epilog="\n\n".join(["Examples:", *(f"`{line}`" for line in examples)]))(
        command
    )

app.add_typer(study_app, name="study")
