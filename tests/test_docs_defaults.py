"""The reference's griffe extension: every parameter is shown with its own default."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

griffe = pytest.importorskip("griffe")

EXTENSION = Path(__file__).parents[1] / "docs" / "_ext" / "true_defaults.py"
MODULE = '''
from dataclasses import dataclass

def f(a, b=1, c=2, *rest, how, **more):
    """Do it.

    Parameters
    ----------
    a, b, c : int
        Numbers.
    *rest : str or array-like
    how : {"x", "y"}
    **more : str, Path or bytes
    """

def g(metric: str = "m", alpha: float = 0.5):
    """Do that.

    Parameters
    ----------
    metric, alpha
        As elsewhere.
    """

@dataclass
class D:
    """Hold it.

    Parameters
    ----------
    low, high : float
        The ends.

    Attributes
    ----------
    low, high : float
        The ends.
    """

    low: float = 0.0
    high: float = 1.0
'''


@pytest.fixture
def sections(tmp_path: Path) -> Callable[..., Any]:
    """Load the module as the documentation does; the section of an object by its kind."""
    (tmp_path / "documented.py").write_text(MODULE, encoding="utf-8")
    module = griffe.load(
        "documented",
        search_paths=[tmp_path],
        docstring_parser="numpy",
        extensions=griffe.load_extensions("dataclasses", str(EXTENSION)),
    )
    return lambda name, kind: next(
        s.value for s in module[name].docstring.parsed if s.kind.value == kind
    )


def test_names_on_one_line_have_their_own_defaults(sections: Callable[..., Any]) -> None:
    defaults = {p.name: p.default for p in sections("f", "parameters")}
    assert [defaults[name] for name in "abc"] == [None, "1", "2"]
    assert [p.default for p in sections("D", "parameters")] == ["0.0", "1.0"]


def test_choices_and_variadics_have_no_invented_default(sections: Callable[..., Any]) -> None:
    defaults = {p.name: p.default for p in sections("f", "parameters")}
    assert defaults["how"] is defaults["*rest"] is defaults["**more"] is None


def test_types_are_shown_as_written(sections: Callable[..., Any]) -> None:
    types = {p.name: str(p.annotation) for p in sections("f", "parameters")}
    assert types["*rest"] == "str or array-like"
    assert types["how"] == '{"x", "y"}'
    assert types["**more"] == "str, Path or bytes"


def test_names_without_a_type_have_their_own_annotation(sections: Callable[..., Any]) -> None:
    assert [str(p.annotation) for p in sections("g", "parameters")] == ["str", "float"]


def test_attributes_on_one_line_become_entries(sections: Callable[..., Any]) -> None:
    low, high = sections("D", "attributes")
    assert (low.name, high.name) == ("low", "high")
    assert low.description == high.description == "The ends."
