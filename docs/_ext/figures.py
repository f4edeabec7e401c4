"""Names of figures in prose: d_τ is written so in sources, and shown with its subscript."""

from __future__ import annotations

import re
from typing import Any

CODE = re.compile(r"(^```.*?^```$|`[^`\n]*`|\\\[.*?\\\]|\\\(.*?\\\))", re.DOTALL | re.MULTILINE)
SHOWN = '<span class="tau">d<sub>τ</sub></span>'


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Set the subscript everywhere but in code and formulas."""
    parts = CODE.split(markdown)
    return "".join(part if k % 2 else part.replace("d_τ", SHOWN) for k, part in enumerate(parts))
