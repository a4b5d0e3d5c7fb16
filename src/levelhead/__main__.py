"""`python -m levelhead` is the command line."""

from levelhead.cli import main

main()
