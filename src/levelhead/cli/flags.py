"""Commands whose help shows flags as flags: `--force`, not `--force <bool>`."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


class Command(TyperCommand):
    """A command whose flags have no type in the help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; flags show no type."""
        return _plain(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands whose flags have no type in the help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters; flags show no type."""
        return _plain(super().get_params(ctx))


def _plain(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters
