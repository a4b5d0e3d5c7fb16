"""Search without a network connection: the script that the theme would load from elsewhere is part of the manual."""

import posixpath
from typing import Any

_ELSEWHERE = "https://unpkg.com/iframe-worker/shim"


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Replace the address of the script by that of the manual's own."""
    here = posixpath.relpath("assets/iframe-worker.js", posixpath.dirname(page.url) or ".")
    return output.replace(_ELSEWHERE, here)


def on_post_template(output_content: str, template_name: str, config: Any) -> str:
    """Do the same for pages that are no part of the manual, such as that for a wrong address."""
    return output_content.replace(_ELSEWHERE, "assets/iframe-worker.js")
