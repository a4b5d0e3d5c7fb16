"""The command line: every command is a few lines around calls that a notebook could make too."""

import sys

from levelhead.cli import ending


def main() -> None:
    """What the console script `levelhead` runs; it ends the process."""
    with ending.by_signals():
        try:
            from levelhead.cli.app import app
        except ImportError as error:
            if error.name not in ("typer", "rich"):
                raise
            sys.exit(f"levelhead: the command line needs {error.name}: pip install 'levelhead[cli]'")
        except MemoryError:
            sys.exit(f"levelhead: not enough memory; {ending.NO_MEMORY}")
        app(prog_name="levelhead")
