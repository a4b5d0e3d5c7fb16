"""Two corrections of docstrings for the reference.

Markdown takes the `>>>` of examples outside a section "Examples" for quotations: they are fenced as code. Griffe takes
the type `array-like` for a difference: a hyphen that is no operator keeps it together.
"""

import re

import griffe

# Output ends at a blank line.
_EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> ).*\S.*\n?)*)+", re.MULTILINE)
_HYPHEN = "\N{NON-BREAKING HYPHEN}"


class ReadableDocstrings(griffe.Extension):
    """Called by griffe with every module, class and function that it reads."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Correct one docstring."""
        if obj.docstring:
            text = obj.docstring.value.replace("array-like", f"array{_HYPHEN}like")
            obj.docstring.value = _EXAMPLE.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", text)
