"""Criteria against the pair sums that define them (theory §4)."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crank.criteria import choose_criterion, criteria, get_criterion, tied_pairs
from crank.errors import OptionError
from crank.kernels.cuts import Layer
from crank.mass import LocalMass
from crank.ranks import rank

CRITERIA = {criterion.name: criterion for criterion in criteria()}


def between_mass(y: np.ndarray, w: np.ndarray, a: float, b: float) -> float:
    """Weight of the whole sample strictly between two responses."""
    low, high = min(a, b), max(a, b)
    return float(w[(y > low) & (y < high)].sum())


def naive_scores(name: str, y: np.ndarray, w: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Score of each row of a node, straight from the definition."""
    yn, wn = y[node], w[node]
    sign = np.sign(yn[:, None] - yn[None, :])
    if name == "kendall":
        return np.asarray(wn * (sign @ wn))
    if name == "iauc":
        between = np.array([[between_mass(y, w, a, b) for b in yn] for a in yn])
        return np.asarray(wn * ((sign * between) @ wn))
    if name == "spearman":
        mid = np.array([w[y < v].sum() + w[y <= v].sum() for v in yn]) / 2
        return np.asarray(wn * (mid - (wn @ mid) / wn.sum()))
    values = np.unique(yn)[:-1]
    off = np.array([abs(2 * wn[yn <= v].sum() - wn.sum()) for v in values])
    cut = values[np.flatnonzero(off <= off.min() + 1e-9)[-1]]
    return np.asarray(np.where(yn > cut, wn, -wn))


def layer_of(ranks: Any, nodes: Any) -> Any:
    """Build a layer from lists of rows."""
    place = np.empty(len(ranks.row), dtype=np.int32)
    place[ranks.row] = np.arange(len(ranks.row), dtype=np.int32)
    parts = [np.sort(place[rows]) for rows in nodes]
    bounds = np.concatenate(([0], np.cumsum([len(p) for p in parts])))
    return Layer(np.concatenate(parts), bounds)


@given(
    st.lists(st.integers(0, 6), min_size=4, max_size=20).filter(lambda v: len(set(v)) > 1),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_scores_equal_the_naive_pair_sums(values: list[int], seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    y = np.array(values, dtype=float)
    w = rng.integers(1, 4, len(y)).astype(float) / 2 if weighted else None
    ranks = rank(y, w)
    mass = np.ones(len(y)) if w is None else w / ranks.unit
    rows = rng.permutation(len(y))
    cut = rng.integers(1, len(y))
    nodes = [part for part in (rows[:cut], rows[cut:]) if len(set(y[part])) > 1]
    for part in ([rows], nodes):
        if not part:
            continue
        layer = layer_of(ranks, part)
        for name, criterion in CRITERIA.items():
            found = criterion.scores(ranks, layer, LocalMass(ranks, layer))
            for k in range(len(part)):
                here = slice(layer.bounds[k], layer.bounds[k + 1])
                node = ranks.row[layer.position[here]]
                expected = naive_scores(name, y, mass, node)
                assert np.allclose(found[here], expected, rtol=1e-12, atol=1e-9), name


@pytest.mark.parametrize("name", ["kendall", "iauc", "spearman"])
def test_scores_of_a_node_sum_to_zero(name: str) -> None:
    rng = np.random.default_rng(3)
    ranks = rank(rng.integers(0, 30, 200).astype(float), rng.uniform(0.1, 3, 200))
    layer = layer_of(ranks, [np.arange(70), np.arange(70, 200)])
    score = CRITERIA[name].scores(ranks, layer, LocalMass(ranks, layer))
    scale = np.abs(score).sum()
    assert np.abs(np.add.reduceat(score, layer.starts)).max() < 1e-12 * scale


def test_the_median_row_of_an_odd_node_is_not_above_itself() -> None:
    ranks = rank(np.array([1.0, 2.0, 3.0]))
    layer = layer_of(ranks, [np.arange(3)])
    assert CRITERIA["crank"].scores(ranks, layer, LocalMass(ranks, layer)).tolist() == [-1, -1, 1]


@pytest.mark.parametrize("y", [[0, 0, 0, 0, 1], [0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1, 2]])
def test_crank_finds_both_labels_under_heavy_ties(y: list[int]) -> None:
    ranks = rank(np.array(y, dtype=float))
    layer = layer_of(ranks, [np.arange(len(y))])
    score = CRITERIA["crank"].scores(ranks, layer, LocalMass(ranks, layer))
    assert set(score) == {-1.0, 1.0}


def test_weights_count_like_copies_of_a_row() -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 8, 30).astype(float)
    copies = rng.integers(1, 4, 30)
    weighted = rank(y, copies.astype(float))
    repeated = rank(np.repeat(y, copies))
    for criterion in CRITERIA.values():
        sums = []
        for ranks in (weighted, repeated):
            layer = layer_of(ranks, [np.arange(len(ranks.row))])
            score = criterion.scores(ranks, layer, LocalMass(ranks, layer))
            sums.append(np.bincount(ranks.group, score))
        assert np.allclose(sums[0], sums[1]), criterion.name


def test_an_unknown_criterion_is_an_error_that_helps() -> None:
    with pytest.raises(OptionError, match=r"no criterion named 'kendal'.*Did you mean 'kendall'"):
        get_criterion("kendal")
    with pytest.raises(OptionError, match="Allowed: auto, crank, kendall, iauc, spearman"):
        get_criterion(["kendall"])  # type: ignore[arg-type]


def test_rounding_is_not_taken_for_a_score() -> None:
    # nothing lies between neighbouring responses, so the IAUC has nothing to gain there
    rng = np.random.default_rng(6)
    y = rng.integers(0, 12, 400).astype(float)
    ranks = rank(y, rng.uniform(0.1, 3, 400))
    nodes = [np.flatnonzero((y == v) | (y == v + 1)) for v in (0, 2, 6, 10)]
    layer = layer_of(ranks, nodes)
    assert not CRITERIA["iauc"].scores(ranks, layer, LocalMass(ranks, layer)).any()


@pytest.mark.parametrize(
    ("y", "name", "because"),
    [
        (np.arange(50.0), "crank", "no pairs are tied in y"),
        (np.repeat([0.0, 1.0], [10, 2]), "kendall", "y has two distinct values"),
        (np.maximum(np.arange(100.0), 25.0), "crank", "6.6% of all pairs are tied in y"),
        (np.maximum(np.arange(100.0), 40.0), "kendall", "17% of all pairs are tied in y"),
        (np.arange(100.0) // 20, "kendall", "19% of all pairs are tied in y"),
    ],
)
def test_the_ties_in_y_choose_the_criterion(y: np.ndarray, name: str, because: str) -> None:
    criterion, why = choose_criterion("auto", rank(y))
    assert (criterion.name, why) == (name, because)
    assert choose_criterion("spearman", rank(y)) == (get_criterion("spearman"), "")


def test_weights_count_as_rows_when_ties_choose() -> None:
    y, w = np.array([1.0, 2.0, 2.0, 3.0]), np.array([1.0, 2.0, 1.0, 3.0])
    # tied: 2·1 of (49 − 15) / 2
    assert tied_pairs(rank(y, w)) == pytest.approx(2.0 / 17.0)
