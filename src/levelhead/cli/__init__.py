"""The command line: every command is a few lines around calls that a notebook could make too."""

import gc
import sys

from levelhead._extras import needed
from levelhead.cli import ending


def main() -> None:
    """Entry point of the console script `levelhead`; it ends the process."""
    with ending.by_signals():
        try:
            for library in ("typer", "rich"):
                needed(library, "the command line", "cli")
            from levelhead.cli.app import app
        except MemoryError:
            sys.exit(f"levelhead: not enough memory; {ending.NO_MEMORY}")
        except ImportError as error:
            if error.name not in ("typer", "rich"):
                raise
            sys.exit(f"levelhead: {error}")
        try:
            app(prog_name="levelhead")
        finally:
            gc.freeze()  # the interpreter would search all that lives for garbage once more before it ends
