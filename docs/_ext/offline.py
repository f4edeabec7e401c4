"""Pages that load nothing: the one script that the theme takes from elsewhere is our own copy."""

from __future__ import annotations

from typing import Any

FOREIGN = "https://unpkg.com/iframe-worker/shim"
OWN = "assets/iframe-worker.js"


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Point every page at the copy, by a path relative to the page."""
    return output.replace(FOREIGN, "../" * page.url.count("/") + OWN)


def on_post_template(output: str, *, template_name: str, config: Any) -> str:
    """Do the same for pages without a source, such as that of a broken link."""
    return output.replace(FOREIGN, f"/{OWN}")
