"""Versions of the documentation: a folder each, and a menu that works from files as from a server.

``make docs-release`` builds the present version into ``site-versions/1.2.3`` beside those that are
there already, and runs this file, which lists them in ``versions.js``. Pages built for it load that
list by a script, not by a request: requests fail where pages are opened as files.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

NUMBERED = re.compile(r"\d+(\.\d+)*([a-z]+\d*)?")
SWITCH = "CRANK_DOCS_RELEASE"
"""The environment variable by which a build knows that it stands among others."""


def on_config(config: Any) -> Any:
    """Put the version into the title of every page."""
    source = (Path(config.docs_dir).parent / "crank" / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'__version__ = "(.+)"', source)
    assert found is not None
    config.site_name = f"{config.site_name} {found[1]}"
    return config


def on_post_page(output: str, *, page: Any, config: Any) -> str:
    """Let pages of a release load the list of versions, which lies beside their own folder."""
    if SWITCH not in os.environ:
        return output
    up = "../" * (page.url.count("/") + 1)
    return output.replace("</head>", f'<script src="{up}versions.js"></script></head>', 1)


def list_versions(folder: Path) -> list[str]:
    """List the versions that lie in a folder, the newest first, for the menu; lead to the newest.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("1.9.0", "1.10.0", "img"):
    ...     (folder / name).mkdir()
    ...     _ = (folder / name / "index.html").write_text("")
    >>> list_versions(folder)
    ['1.10.0', '1.9.0']
    """
    names = [path.parent.name for path in folder.glob("*/index.html")]
    found = sorted(filter(NUMBERED.fullmatch, names), key=_order, reverse=True)
    listed = f"window.crankVersions = {json.dumps(found)};\n"
    (folder / "versions.js").write_text(listed, encoding="utf-8")
    if found:
        leads = (
            f'<!doctype html><meta http-equiv="refresh" content="0; url={found[0]}/index.html">\n'
        )
        (folder / "index.html").write_text(leads, encoding="utf-8")
    return found


def _order(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Order by numbers; 1.2.0.dev0 and 1.2.0rc1 come before 1.2.0."""
    numbers = re.match(r"[\d.]+", version)
    assert numbers is not None
    rest = version[numbers.end() :]
    return tuple(int(part) for part in numbers[0].strip(".").split(".")), not rest, rest


if __name__ == "__main__":
    print("versions:", ", ".join(list_versions(Path(sys.argv[1]))))
