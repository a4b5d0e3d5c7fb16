"""Shows the `>>>` examples of docstrings as code in the reference, where Markdown would see quotations."""

import re

import griffe

# Output ends at a blank line.
_EXAMPLE = re.compile(r"(?:^>>> .*\n?(?:^(?!>>> ).*\S.*\n?)*)+", re.MULTILINE)


class FencedExamples(griffe.Extension):
    """Called by griffe with every module, class and function that it reads."""

    def on_instance(self, *, obj: griffe.Object, **_: object) -> None:
        """Fence the examples of one docstring."""
        if obj.docstring:
            obj.docstring.value = _EXAMPLE.sub(
                lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", obj.docstring.value
            )
