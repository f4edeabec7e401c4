"""Shares of a binary response: read off a tree, drawn in place of boxes and medians."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

import crank
from crank.report.plot_curves import roc
from crank.report.plot_leaves import wilson
from crank.report.shares import higher_shares
from tests.narrowing import of, present


def sample(positive: float, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n)})
    signal = frame["x"] + 0.5 * rng.normal(size=n)
    frame["y"] = np.where(signal > np.quantile(signal, 1.0 - positive), 7.0, 3.0)
    return frame.assign(w=rng.uniform(0.5, 3.0, n))


@pytest.mark.parametrize("positive", [0.05, 0.3, 0.5, 0.7, 0.95])
@pytest.mark.parametrize("weights", [None, "w"])
def test_shares_are_those_of_the_training_rows(positive: float, weights: str | None) -> None:
    frame = sample(positive)
    m = crank.fit(frame, "y ~ x + z", weights=weights, max_depth=2, prune=None)
    shares, leaf = higher_shares(m.tree), m.predict(frame, "leaf")
    w = frame["w"].to_numpy() if weights else np.ones(len(frame))
    high = frame["y"].to_numpy() == 7.0
    for k, node in enumerate(m.tree.leaves):
        share = float((w * high)[leaf == k].sum() / w[leaf == k].sum())
        assert present(shares)[node] == pytest.approx(share, abs=1e-9)


def test_more_values_have_no_share_and_a_tree_of_one_leaf_may_not_tell() -> None:
    frame = sample(0.3)
    assert higher_shares(crank.fit(frame, "z ~ x").tree) is None
    rare = frame.assign(y=np.arange(300) % 20 == 0)
    assert higher_shares(crank.fit(rare, "y ~ x", max_depth=1, min_samples_leaf=150).tree) is None


def test_a_binary_response_is_drawn_as_shares() -> None:
    frame = sample(0.3)
    m = crank.fit(frame, "y ~ x + z", max_depth=2, prune=None)
    ax = m.plot_leaves(frame, ax=Figure().subplots())
    heights = {bar.get_gid(): of(Rectangle, bar).get_height() for bar in ax.patches}
    leaf = m.predict(frame, "leaf")
    for k in range(m.tree.n_leaves):
        assert heights[f"leaf {k}"] == pytest.approx((frame["y"][leaf == k] == 7.0).mean())
    assert ax.get_ylabel() == "share with y = 7"
    points = m.plot_calibration(frame, ax=Figure().subplots())
    across, up = np.asarray(points.collections[-1].get_offsets()).T  # training rows both times
    np.testing.assert_allclose(across, up, atol=1e-9)
    texts = [text.get_text() for text in m.plot().texts]
    assert any(text.endswith("%") for text in texts)
    assert texts[-1].endswith("share with higher y")


def test_the_iroc_curve_of_a_binary_response_is_its_roc_curve() -> None:
    frame = sample(0.3)
    m = crank.fit(frame, "y ~ x + z", max_depth=2, prune=None)
    ax = m.plot_iroc(frame, weights="w", ax=Figure().subplots())
    false, true = (np.asarray(part, dtype=float) for part in ax.lines[1].get_data())
    score = m.predict(frame)
    auc = crank.metrics.kendall(frame["y"], score, weights=frame["w"])
    area = np.diff(false) @ (true[1:] + true[:-1]) / 2
    assert area == pytest.approx(auc, abs=1e-12)
    assert present(ax.get_legend()).get_texts()[0].get_text().endswith(f"(AUC {auc:.3f})")
    assert roc(np.array([1.0, 0.0]), np.array([2.0, 1.0]), None)[1].tolist() == [0.0, 1.0, 1.0]


def test_none_and_all_are_said_as_such() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.integers(0, 9, 500), "z": rng.normal(size=500)})
    frame["y"] = (frame["x"] > 4) & (rng.random(500) < 0.7)
    m = crank.fit(frame, "y ~ x + z", criterion="kendall", max_depth=5, prune=None)
    leaf = m.predict(frame, "leaf")
    found = present(higher_shares(m.tree))[list(m.tree.leaves)]
    expected = frame["y"].groupby(leaf).mean().to_numpy()
    assert ((found == 0.0) == (expected == 0.0)).all()
    assert ((found == 1.0) == (expected == 1.0)).all()
    drawn = [text.get_text() for text in m.plot(ax=Figure().subplots()).texts]
    assert not any("<1%" in text or ">99%" in text for text in drawn)


def test_calibration_of_shares_has_whole_points_and_wilsons_intervals() -> None:
    frame = sample(0.3)
    m = crank.fit(frame, "y ~ x + z", max_depth=3, prune=None)
    ax = m.plot_calibration(frame, ax=Figure().subplots())
    for low, high in (ax.get_xlim(), ax.get_ylim()):  # a share of none or all is drawn whole
        assert low < 0.0
        assert high > 1.0
    leaf = m.predict(frame, "leaf")
    of_leaf = (frame["y"] == 7.0).groupby(leaf)
    bounds = wilson(of_leaf.mean().to_numpy(), np.bincount(leaf))
    bars = np.array([bar[:, 1] for bar in of(LineCollection, ax.collections[0]).get_segments()])
    np.testing.assert_allclose(bars, np.stack(bounds, axis=1), atol=1e-9)
    assert (bars[:, 1] - bars[:, 0] > 0.01).all()
    assert ax.get_ylabel() == "share with higher y, these data"
