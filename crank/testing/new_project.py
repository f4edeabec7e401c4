"""Write the project of a new plugin: one that installs and passes its tests as it stands."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from crank.errors import OptionError
from crank.plugins.discovery import installed

TEMPLATES = Path(__file__).parent / "project"
PLACES = {
    "pyproject.toml.txt": "pyproject.toml",
    "README.md.txt": "README.md",
    "ci.yml.txt": ".github/workflows/tests.yml",
    "init.py.txt": "src/crank_MODULE/__init__.py",
    "learner.py.txt": "src/crank_MODULE/learner.py",
    "test_learner.py.txt": "tests/test_learner.py",
}


def new_project(name: str, folder: str | Path | None = None) -> Path:
    """Write a plugin project with a learner, its rule with JSON and ONNX, tests and CI.

    Parameters
    ----------
    name : str
        What users will write as ``learner=``: small letters, digits and hyphens.
    folder : str or Path, optional
        Where to write it; ``crank-NAME`` by default. It must not exist yet.

    Returns
    -------
    Path

    Raises
    ------
    OptionError
        The name is not allowed or taken, or the folder exists.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or keyword.iskeyword(name):
        raise OptionError(
            f"a learner cannot be called {name!r}. Allowed: small letters and digits, parts joined "
            "by hyphens, for instance 'nearest-mean'."
        )
    if name in installed():
        owner = installed()[name].distribution
        raise OptionError(f"{name!r} is a learner of {owner} already. Choose another name.")
    home = Path(folder if folder is not None else f"crank-{name}")
    if home.exists():
        raise OptionError(f"{str(home)!r} exists already. Name a folder that does not.")
    words = {
        "MODULE": name.replace("-", "_"),
        "CLASS": "".join(part.capitalize() for part in name.split("-")),
        "NAME": name,
    }
    for template, place in PLACES.items():
        text = (TEMPLATES / template).read_text(encoding="utf-8")
        path = home / place.replace("MODULE", words["MODULE"])
        path.parent.mkdir(parents=True, exist_ok=True)
        for word, meaning in words.items():
            text = text.replace(word, meaning)
        path.write_text(text, encoding="utf-8")
    return home
