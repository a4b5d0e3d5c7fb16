"""The command line: every command is a few lines around calls that a notebook could make too."""

import sys

from levelhead._extras import needed


def main() -> None:
    """What the console script `levelhead` runs."""
    try:
        for library in ("typer", "rich"):
            needed(library, "the command line", "cli")
    except ImportError as error:
        sys.stderr.write(f"levelhead: {error}\n")
        sys.exit(1)
    from levelhead.cli.app import app

    app(prog_name="levelhead")
