"""Figures of a tree's own rows: the general way is the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crank.kernels import leaves
from crank.metrics import concordance, grouped
from crank.metrics.figures import IAUC, KENDALL, get_figure
from crank.metrics.grouped import leaf_concordance
from crank.ranks import rank

rows = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 4)), min_size=2, max_size=25
)


def check(
    y: np.ndarray, leaf: np.ndarray, weight: np.ndarray | None, tolerance: float = 1e-12
) -> None:
    """Compare with the general way, d_τ and IAUC."""
    ranks = rank(y, weight)
    names = ["kendall", "iauc"] if len(np.unique(y)) > 2 else ["kendall"]
    score = np.unique(leaf, return_inverse=True)[1]
    figures = [get_figure(name) for name in names]
    every = leaf_concordance(ranks, score[ranks.row], figures)
    for name, found in zip(names, every, strict=True):
        expected = concordance(y, leaf, metric=name, weights=weight)
        assert (found.metric, found.n, found.weighting) == (name, len(y), expected.weighting)
        for part in ("estimate", "se", "ci_low", "ci_high"):
            got, wanted = getattr(found, part), getattr(expected, part)
            assert got == pytest.approx(wanted, rel=tolerance, abs=1e-12)


@given(rows, st.booleans())
def test_equals_the_general_way_with_ties_and_weights(
    data: list[tuple[int, int, int]], weighted: bool
) -> None:
    y, leaf, weight = (np.array(part, dtype=float) for part in zip(*data, strict=True))
    if len(set(y)) >= 2:
        check(y, leaf, weight if weighted else None)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", ["sign", 0, 9])
def test_equals_the_general_way_on_more_rows_and_compiled(
    monkeypatch: pytest.MonkeyPatch, compiled: bool, weighted: bool, digits: int | str
) -> None:
    monkeypatch.setattr(leaves, "COMPILED_FROM", 0 if compiled else 10**9)
    rng = np.random.default_rng(0)
    s = rng.normal(size=700)
    y = s + rng.normal(size=700)
    y = y.round(digits) if isinstance(digits, int) else np.sign(y)
    weight = rng.random(700) + 0.1 if weighted else None
    check(y, np.digitize(s, np.linspace(-2, 2, 12)), weight, 1e-9 if weighted else 1e-12)


@pytest.mark.parametrize("limit", ["MOST_LEAVES", "WIDEST"])
def test_many_leaves_and_wide_weights_go_the_general_way(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(grouped, limit, 0)
    rng = np.random.default_rng(1)
    check(rng.normal(size=30), rng.integers(0, 4, 30), rng.random(30))


def test_one_leaf_is_one_half() -> None:
    found = leaf_concordance(rank(np.arange(9.0)), np.zeros(9, dtype=int), [IAUC, KENDALL])
    assert [part.estimate for part in found] == [0.5, 0.5]
    assert [part.se for part in found] == [0.0, 0.0]
