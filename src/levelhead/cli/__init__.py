"""The command line: every command is a few lines around calls that a notebook could make too."""

import sys


def main() -> None:
    """What the console script `levelhead` runs."""
    try:
        from levelhead.cli.app import app
    except ImportError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write(f"levelhead: the command line needs {error.name}: pip install 'levelhead[cli]'\n")
        sys.exit(1)
    app(prog_name="levelhead")
