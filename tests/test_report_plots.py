"""Plots are judged by their content: what is drawn, where, with which labels and numbers."""

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes._axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch, Rectangle
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import crank
from crank.errors import DataError, MissingExtraError, OptionError
from crank.report import plots
from crank.report.plot_layout import fold
from crank.report.plot_style import folded
from crank.report.plot_terms import dependence
from tests.narrowing import number, of, present

matplotlib = pytest.importorskip("matplotlib")
from matplotlib import pyplot as plt  # noqa: E402  without it, the tests are skipped
from matplotlib.figure import Figure  # noqa: E402

DOCS = Path(__file__).parents[1] / "docs"
DIAMONDS = "price ~ log(carat) + cut + color + clarity + depth + table"


@pytest.fixture(autouse=True)
def settings_stay_as_they_are() -> Iterator[None]:
    before = dict(matplotlib.rcParams)
    yield
    assert dict(matplotlib.rcParams) == before


@pytest.fixture(scope="module")
def split(diamonds: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    return diamonds.iloc[:1500], diamonds.iloc[1500:2500]


@pytest.fixture(scope="module")
def model(split: tuple[pd.DataFrame, pd.DataFrame]) -> crank.TreeModel:
    return crank.fit(split[0], DIAMONDS, criterion="kendall", cv=3, max_depth=5)


def points_of(line: Line2D) -> tuple[np.ndarray, np.ndarray]:
    """What a line draws, as arrays."""
    x, y = line.get_data()
    return np.asarray(x), np.asarray(y)


def tree_patches(ax: Axes) -> dict[str, Patch]:
    return {str(patch.get_gid()): patch for patch in ax.patches if patch.get_gid()}


def drawn_boxes(ax: Axes) -> tuple[dict[str, Bbox], list[tuple[Text, Bbox]]]:
    """Extents of all boxes on the canvas, by name, after a real drawing."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(of(Figure, ax.figure))  # Matplotlib's renderers are untyped
    canvas.draw()
    renderer = canvas.get_renderer()
    boxes = {name: patch.get_window_extent(renderer) for name, patch in tree_patches(ax).items()}
    texts = [
        (text, text.get_window_extent(renderer)) for text in ax.texts if text.get_zorder() == 4
    ]
    return boxes, texts


def check_tree(ax: Axes, m: crank.TreeModel) -> None:
    boxes, texts = drawn_boxes(ax)
    assert sum(name.startswith("leaf") for name in boxes) == m.tree.n_leaves
    assert len(boxes) == sum(1 for _ in m.tree.walk())
    for a, b in itertools.combinations(boxes.values(), 2):
        assert not a.overlaps(b)
    canvas = ax.figure.bbox
    for box in boxes.values():
        assert box.x0 >= canvas.x0
        assert box.x1 <= canvas.x1
        assert box.y0 >= canvas.y0
        assert box.y1 <= canvas.y1
    for text, extent in texts:
        middle = (extent.x0 + extent.x1) / 2, (extent.y0 + extent.y1) / 2
        home = [box for box in boxes.values() if box.contains(*middle)]
        assert len(home) == 1, text.get_text()
        assert extent.x0 >= home[0].x0 - 1, text.get_text()
        assert extent.x1 <= home[0].x1 + 1, text.get_text()


@pytest.mark.parametrize("n_leaves", [1, 2, 3, 8, 31, 64])
def test_tree_is_readable_at_any_size(
    split: tuple[pd.DataFrame, pd.DataFrame], n_leaves: int
) -> None:
    grown = crank.fit(split[0], DIAMONDS, criterion="kendall", max_depth=7, prune=None)
    m = grown.prune(n_leaves=n_leaves)
    assert m.tree.n_leaves == n_leaves
    ax = m.plot()
    check_tree(ax, m)
    assert of(Figure, ax.figure).get_size_inches().max() < 20
    sizes = {number(text.get_fontsize()) for text in ax.texts if text.get_zorder() == 4}
    assert min(sizes) >= 7.9


@pytest.mark.parametrize("size", [(4, 2), (8, 8), (30, 3)])
def test_tree_fits_the_axes_it_is_given(model: crank.TreeModel, size: tuple[int, int]) -> None:
    ax = Figure(figsize=size, dpi=300).subplots()  # tiny letters round to whole pixels
    assert model.plot(ax=ax) is ax
    check_tree(ax, model)
    assert not plt.get_fignums()


def test_long_rules_are_cut_and_never_overlap(
    split: tuple[pd.DataFrame, pd.DataFrame], ames: pd.DataFrame
) -> None:
    oblique = crank.fit(split[0], DIAMONDS, learner="logistic", max_depth=3, prune=None)
    check_tree(oblique.plot(), oblique)
    many = crank.fit(ames, "price ~ Neighborhood + `Exterior.1st`", max_depth=4, prune=None)
    ax = many.plot()
    check_tree(ax, many)
    assert any(text.get_text().endswith("…") for text in ax.texts)


def test_tree_shows_rules_counts_and_leaves_in_their_order(model: crank.TreeModel) -> None:
    ax = model.plot()
    shown = [text.get_text() for text in ax.texts]
    assert shown[0] == "log(carat) > " + shown[0].split()[-1]
    assert f"n {model.training.n:,}" in shown
    for leaf, row in model.tidy().iterrows():
        assert f"leaf {leaf}" in shown
        assert f"n {row['n']:,}" in shown
    boxes = tree_patches(ax)
    brightness = [
        sum(to_rgb(boxes[f"leaf {k}"].get_facecolor())) for k in range(model.tree.n_leaves)
    ]
    assert brightness == sorted(brightness)
    named = [boxes[f"leaf {model.tree.leaf_of_node[i]}"] for i in model.tree.oriented_leaves]
    corners = [of(FancyBboxPatch, box) for box in named]
    place = [(box.get_x(), -box.get_y()) for box in corners]  # in a row, or one below another
    assert place == sorted(place)
    assert shown.count("yes") == shown.count("no") == model.tree.n_leaves - 1


def test_a_drawing_ends_at_the_depth_that_was_asked_for(model: crank.TreeModel) -> None:
    ax = model.plot(max_depth=2)
    boxes, _ = drawn_boxes(ax)
    shown = [name for name in boxes if not name.startswith("node")]
    assert len(shown) == 4
    covered: list[Any] = []
    for name in shown:
        covered += map(int, name.split()[1:])
    assert sorted(covered) == list(range(model.tree.n_leaves))
    assert {"n 1,500", "yes", "no"} <= {text.get_text() for text in ax.texts}
    assert len(tree_patches(model.plot(max_depth=50))) == len(tree_patches(model.plot()))
    with pytest.raises(OptionError, match="max_depth=0"):
        model.plot(max_depth=0)


def test_leaves_of_a_cut_branch_that_are_not_neighbours_are_counted(ames: pd.DataFrame) -> None:
    m = crank.fit(
        ames, "price ~ Neighborhood + area", criterion="kendall", leaf_order="rank", prune=None,
        max_depth=5,
    )  # fmt: skip
    names = [text.get_text() for text in m.plot(max_depth=2).texts]
    assert any(name.endswith(" leaves") for name in names)


def test_dollar_signs_in_names_are_not_mathematics(toy: pd.DataFrame) -> None:
    frame = toy.rename(columns={"x1": "cost $", "y": "$gain$"})
    m = crank.fit(frame, "`$gain$` ~ `cost $` + x2", max_depth=2, prune=None)
    check_tree(m.plot(), m)


def test_fold_keeps_every_line_within_its_width() -> None:
    text = "a in {bb, ccc, dddddddddddddddd, e}"
    for width in range(4, 40):
        for lines in (1, 2, 3):
            folded = fold(text, width, lines, len)
            assert len(folded) <= lines
            assert all(len(line) <= width for line in folded)
            if all("…" not in line for line in folded):
                assert " ".join(folded) == text


def test_iroc_shows_each_model_with_the_area_of_its_own_curve(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    test = split[1]
    small = model.prune(n_leaves=2)
    for weighting in ("triple", "uniform"):
        ax = plots.plot_iroc({"full": model, "small": small}, test, weighting=weighting, band=False)
        assert len(ax.lines) == 3
        np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 0], [1, 1]])
        labels = [text.get_text() for text in present(ax.get_legend()).get_texts()]
        for label, m, name in zip(labels, (model, small), ("full", "small"), strict=True):
            area = crank.metrics.iauc(test["price"], m.predict(test), weighting=weighting)
            assert label == f"{name} (IAUC {area:.3f})"
        for line in ax.lines[1:]:
            alpha, iroc = points_of(line)
            assert (alpha[0], iroc[0], alpha[-1], iroc[-1]) == (0, 0, 1, 1)
            assert (np.diff(iroc) >= 0).all()
        assert weighting in ax.get_ylabel()


def test_iroc_band_holds_the_curve_and_is_left_out_of_large_data(
    model: crank.TreeModel,
    split: tuple[pd.DataFrame, pd.DataFrame],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = split[1].iloc[:150]
    ax = model.plot_iroc(few)
    assert len(ax.collections) == 1
    from crank.report import plot_curves

    monkeypatch.setattr(plot_curves, "MOST_BOOTSTRAPPED", 100)
    assert not model.plot_iroc(few).collections
    assert len(model.plot_iroc(few, band=True).collections) == 1


def test_models_without_names_get_distinct_ones(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    ax = plots.plot_iroc([model, model.prune(n_leaves=3)], split[1], band=False)
    labels = [text.get_text() for text in present(ax.get_legend()).get_texts()]
    assert labels[0].startswith("1. kendall × stump")
    assert labels[1].startswith("2. kendall × stump")
    with pytest.raises(OptionError, match="no model"):
        plots.plot_iroc([], split[1])


def test_profile_draws_the_aucs_and_the_line_of_chance(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    test = split[1]
    ax = model.plot_profile(test)
    profile = crank.metrics.auc_profile(test["price"], model.predict(test))
    x, auc = points_of(ax.lines[0])
    assert set(zip(x, auc, strict=True)) <= set(zip(profile.quantile, profile.auc, strict=True))
    assert min(x[0], 1 - x[-1]) * len(test) >= 10
    around = np.asarray(ax.collections[0].get_paths()[0].vertices)
    assert (around[:, 0].min(), around[:, 0].max()) == (x[0], x[-1])
    for quantile, height in zip(x, auc, strict=True):
        at = around[around[:, 0] == quantile, 1]
        assert at.min() <= height <= at.max()
    assert len(x) <= 50
    assert points_of(ax.lines[1])[1].tolist() == [0.5, 0.5]
    assert len(ax.collections) == 1
    assert not model.plot_profile(test, band=False).collections
    assert ax.get_xlim() == (0, 1)


def test_pruning_shows_the_path_the_limit_and_the_choices(model: crank.TreeModel) -> None:
    ax = model.plot_pruning()
    table = model.pruning_path()
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), table["n_leaves"])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), table["training"])
    drawn = next(c for c in ax.containers if hasattr(c, "lines"))
    np.testing.assert_array_equal(drawn.lines[0].get_ydata(), table["heldout"])
    best = present(model.validation).step
    limit = table["heldout"][best] - table["se"][best]
    assert any(np.allclose(line.get_ydata(), limit) for line in ax.lines)
    labels = " ".join(text.get_text() for text in present(ax.get_legend()).get_texts())
    assert f"best: {table['n_leaves'][best]} leaves" in labels or "best and 1-se" in labels
    assert f"this model: {model.tree.n_leaves} leaves" in labels


def test_pruning_without_cross_validation_has_a_training_curve_only(
    split: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    m = crank.fit(split[0], DIAMONDS, max_depth=3, prune=None)
    ax = m.plot_pruning()
    labels = [text.get_text() for text in present(ax.get_legend()).get_texts()]
    assert labels == ["training (optimistic)", "this model: 8 leaves"]
    assert ax.get_ylabel() == "IAUC"


def test_leaves_are_boxplots_in_order(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    test = split[1]
    m = model.prune(n_leaves=6)
    ax = m.plot_leaves(test)
    leaf = m.predict(test, "leaf")
    boxes = [patch for patch in ax.patches if str(patch.get_gid()).startswith("leaf")]
    assert len(boxes) == 6
    medians = [points_of(line)[1][0] for line in ax.lines if line.get_linewidth() == 1.4]
    np.testing.assert_allclose(medians, [test["price"][leaf == k].median() for k in range(6)])
    labels = [label.get_text().split() for label in ax.get_xticklabels()]
    assert labels == [[str(k), str((leaf == k).sum())] for k in range(6)]


def test_few_rows_of_a_leaf_are_points(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    leaf = model.predict(split[1], "leaf")
    few = split[1][leaf == 0].iloc[:3]
    ax = model.plot_leaves(pd.concat([few, split[1][leaf == 1]]))
    points = {line.get_gid(): line for line in ax.lines if line.get_gid()}
    assert sorted(points_of(points["rows 0"])[1]) == sorted(few["price"])
    assert "rows 1" not in points
    visible = [patch.get_gid() for patch in ax.patches if patch.get_visible()]
    assert visible == ["leaf 1"]


def test_a_leaf_that_no_row_reaches_keeps_its_place(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    best = split[1][model.predict(split[1], "leaf") == 0]
    ax = model.plot_leaves(best)
    labels = [label.get_text().split() for label in ax.get_xticklabels()]
    assert labels[0] == ["0", str(len(best))]
    assert labels[1] == ["1", "0"]
    assert len(np.asarray(model.plot_calibration(best).collections[-1].get_offsets())) == 1


def test_calibration_draws_mean_quantiles_of_training_and_test(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    test = split[1]
    m = model.prune(n_leaves=5)
    points = np.asarray(m.plot_calibration(test).collections[-1].get_offsets())
    position = (test["price"].rank() - 0.5) / len(test)
    expected = position.groupby(m.predict(test, "leaf")).mean()
    np.testing.assert_allclose(points[:, 0], m.tidy()["quantile"])
    np.testing.assert_allclose(points[:, 1], expected)


def test_intervals_of_calibration_take_students_t(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    few = split[1].groupby(model.predict(split[1], "leaf")).head(3)
    bars = of(LineCollection, model.plot_calibration(few).collections[0]).get_segments()
    position = (few["price"].rank() - 0.5) / len(few)
    leaves = position.groupby(model.predict(few, "leaf"))
    reach = 4.302653 * leaves.std() / np.sqrt(3)  # R: qt(.975, 2)
    assert (leaves.size() == 3).sum() > 5
    for k, bar in enumerate(bars):
        if leaves.size().iloc[k] == 3:
            half = (bar[1, 1] - bar[0, 1]) / 2
            assert half == pytest.approx(reach.iloc[k], rel=1e-6)


def test_labels_of_axes_are_whole(split: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    name = "price_of_the_stone_in_dollars_of_that_year"
    rows = split[0].iloc[:600].rename(columns={"price": name})
    m = crank.fit(rows, f"{name} ~ carat + cut", max_depth=3, prune=None)
    additive = crank.additive(rows, f"{name} ~ s(carat, df=3):s(table, df=3) + cut", smoothing=0.1)
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for ax in (
        m.diagnose(rows).plot(), m.plot_profile(rows), m.plot_score("carat", rows, type="median"),
        m.plot_importance(), m.plot_leaves(rows), m.plot_calibration(rows), m.plot_iroc(rows),
        additive.plot_importance(),
    ):  # fmt: skip
        canvas: Any = FigureCanvasAgg(of(Figure, ax.figure))
        canvas.draw()
        for label in (ax.xaxis.label, ax.yaxis.label):
            if not label.get_text():
                continue
            extent = label.get_window_extent(canvas.get_renderer())
            assert extent.x0 >= 0, label.get_text()
            assert extent.y0 >= 0, label.get_text()
            assert extent.x1 <= ax.figure.bbox.x1, label.get_text()
            assert extent.y1 <= ax.figure.bbox.y1, label.get_text()


def test_importance_bars_are_the_table_and_add_up(model: crank.TreeModel) -> None:
    ax = model.plot_importance()
    total = model.importance()["importance"].sum()
    assert ax.get_xlabel() == f"part of the tree's Kendall's τ = {total:.3f}, training rows"
    table = model.importance()
    widths = [of(Rectangle, patch).get_width() for patch in ax.patches]
    assert sum(widths) == pytest.approx(table["importance"].sum())
    assert ax.get_yticklabels()[0].get_text() == table["term"][0]
    few = model.plot_importance(most=1)
    assert few.get_yticklabels()[1].get_text().endswith(("others", "other"))
    assert sum(of(Rectangle, patch).get_width() for patch in few.patches) == pytest.approx(
        sum(widths)
    )


def test_score_over_a_number_is_the_average_over_the_rows(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    test = split[1].iloc[:120]
    ax = model.plot_score("carat", test)
    x, score = points_of(ax.lines[-1])
    assert (x[0], x[-1]) == (test["carat"].min(), test["carat"].max())
    for k in (0, 77, len(x) - 1):
        expected = model.predict(test.assign(carat=x[k]))
        np.testing.assert_allclose(score[k], expected.mean())
        np.testing.assert_array_equal(
            dependence(model, "carat", test, "score").predicted[k], expected
        )
    assert len(ax.lines) == 40 + 2
    assert len(model.plot_score("carat", test, rows=0).lines) == 2
    assert ax.get_title() == "average over 120 rows, and 40 of them"


def test_rows_without_some_value_are_averaged_as_they_are(ames: pd.DataFrame) -> None:
    some = ames.iloc[:300]
    m = crank.fit(some, "price ~ `Garage.Type` + area", max_depth=3, prune=None)
    found = dependence(m, "area", some, "median")
    expected = m.predict(some.assign(area=found[0][10]), "median")
    rows = np.unique(np.linspace(0, 299, 250).astype(int))
    np.testing.assert_array_equal(found.predicted[10], expected[rows])


def test_score_over_categories_names_them(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    ax = model.plot_score("cut", split[1], type="median")
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels == sorted(split[1]["cut"].unique())
    assert ax.get_ylabel() == "median of price in the leaf"


def test_score_over_few_numbers_and_booleans_shows_values_that_occur(toy: pd.DataFrame) -> None:
    frame = toy.assign(k=np.arange(len(toy)) % 3)
    m = crank.fit(frame, "y ~ C(k) + flag + x1", max_depth=3, prune=None)
    assert [label.get_text() for label in m.plot_score("k", frame).get_xticklabels()] == list("012")
    assert len(m.plot_score("flag", frame).get_xticklabels()) == 2
    assert len(points_of(m.plot_score("x1", frame).lines[0])[0]) == 200


def test_wrong_features_and_types_are_named(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    with pytest.raises(OptionError, match="Did you mean 'carat'"):
        model.plot_score("carats", split[1])
    with pytest.raises(OptionError, match="type='rank'"):
        model.plot_score("carat", split[1], type="rank")
    with pytest.raises(DataError, match="missing in all"):
        model.plot_leaves(split[1].assign(price=np.nan))


def test_every_plot_draws_on_the_axes_it_is_given(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    test = split[1].iloc[:200]
    calls: list[Callable[[Axes], Axes]] = [
        lambda ax: model.plot(ax=ax),
        lambda ax: model.plot_iroc(test, band=False, ax=ax),
        lambda ax: model.plot_profile(test, ax=ax),
        lambda ax: model.plot_pruning(ax=ax),
        lambda ax: model.plot_leaves(test, ax=ax),
        lambda ax: model.plot_importance(ax=ax),
        lambda ax: model.plot_score("carat", test, ax=ax),
        lambda ax: model.plot_calibration(test, ax=ax),
    ]
    for call in calls:
        ax = Figure().subplots()
        assert call(ax) is ax
    assert not plt.get_fignums()


def test_polars_frames_can_be_plotted(
    model: crank.TreeModel, split: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(split[1].iloc[:200].to_dict("list"))
    assert len(model.plot_iroc(frame, band=False).lines) == 2
    assert model.plot_score("cut", frame).lines


def test_without_matplotlib_the_extra_is_named(
    model: crank.TreeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from importlib import util

    find = util.find_spec
    monkeypatch.setattr(
        util, "find_spec", lambda name, *rest: None if name == "matplotlib" else find(name, *rest)
    )
    for call in (model.plot, model.plot_pruning, model.plot_importance):
        with pytest.raises(MissingExtraError, match=r"crank-rank\[plot\]"):
            call()


def test_importing_the_plots_does_not_import_matplotlib() -> None:
    code = (
        "import sys, crank.report.plots, crank.judging.diagnose; print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_boxes_of_a_tree_count_the_levels_that_they_leave_out() -> None:
    rng = np.random.default_rng(0)
    code = rng.integers(0, 12, 400)
    frame = pd.DataFrame({"g": [f"level {k:02}" for k in code], "y": code + rng.normal(size=400)})
    m = crank.fit(frame, "y ~ g", max_depth=1, prune=None)
    texts = [text.get_text() for text in m.plot(ax=Figure().subplots()).texts]
    assert any("… 2 more}" in text.replace("\n", " ") for text in texts), texts


def test_a_score_plot_wants_the_name_first(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1", max_depth=1, prune=None)
    with pytest.raises(OptionError, match="the name of a column and then the data; got DataFrame"):
        m.plot_score(toy, "x1")  # type: ignore[arg-type]


def test_pictures_of_a_tree_without_splits() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=12).round(3), "y": rng.normal(size=12)})
    tree = crank.fit(frame, "y ~ x", cv=2)
    assert tree.tree.n_leaves == 1
    ax = tree.plot()
    note = ax.texts[-1].get_window_extent()
    assert note.x0 >= 0.0
    assert note.x1 <= present(ax.get_figure()).get_window_extent().x1
    assert "no column" in tree.plot_importance().texts[0].get_text()
    steps = tree.plot_pruning().get_xticks()
    assert (steps == np.round(steps)).all()
    # numbers of which none repeats lie where they belong, however few they are
    assert tree.plot_score("x", frame).get_xlim()[0] == pytest.approx(frame["x"].min(), abs=0.5)


def test_two_responses_have_no_profile_but_a_curve() -> None:
    frame = pd.DataFrame({"x": np.arange(40.0), "y": np.arange(40) // 20})
    with pytest.raises(DataError, match=r"two values.*plot_iroc\(data\)"):
        crank.fit(frame, "y ~ x", prune=None).plot_profile(frame)


def test_scores_without_steps_are_drawn_as_lines(
    split: tuple[pd.DataFrame, pd.DataFrame], model: crank.TreeModel
) -> None:
    smooth = crank.linear(split[0], "price ~ carat", cv=None)
    assert smooth.plot_score("carat", split[1]).lines[-1].get_drawstyle() == "default"
    assert model.plot_score("carat", split[1]).lines[-1].get_drawstyle() == "steps-mid"


@pytest.fixture(scope="module")
def dated() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=300), "g": [f"g{k % 60:02}" for k in range(300)]})
    data["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(300) * 2, "D")
    data["y"] = data["x"] + np.arange(300) / 100.0
    return data


def test_score_over_dates_is_a_line_along_a_calendar(dated: pd.DataFrame) -> None:
    m = crank.fit(dated, "y ~ x + day", prune=None)
    ax = m.plot_score("day", dated, ax=Figure().subplots())
    x, average = ax.lines[-1].get_data()
    assert len(np.asarray(x)) == 200
    assert np.asarray(average)[-1] > np.asarray(average)[0]
    assert ax.get_xlim()[0] < 18262 < 18262 + 598 < ax.get_xlim()[1]
    labels = [
        str(label)
        for label in ax.xaxis.get_major_formatter().format_ticks(ax.get_xticks().tolist())
    ]
    assert {"2020", "Jul", "2021"} <= set(labels)
    page = crank.additive(dated, "y ~ x + day", pairs=0).plot_effects("day", figure=Figure())
    ticks = (
        page.axes[0].xaxis.get_major_formatter().format_ticks(page.axes[0].get_xticks().tolist())
    )
    assert "2021" in ticks


def test_score_over_few_dates_names_the_days(dated: pd.DataFrame) -> None:
    two = dated.assign(day=np.where(dated["x"] > 0, dated["day"].iloc[0], dated["day"].iloc[9]))
    ax = crank.fit(two, "y ~ x + day", prune=None).plot_score("day", two, ax=Figure().subplots())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2020-01-01", "2020-01-19"]


def test_score_over_many_levels_draws_the_most_frequent_and_says_so(dated: pd.DataFrame) -> None:
    often = dated.assign(g=np.where(dated["x"] > 1.0, "g59", dated["g"]))
    ax = crank.fit(often, "y ~ x + g", prune=None).plot_score("g", often, ax=Figure().subplots())
    names = [text.get_text() for text in ax.get_xticklabels()]
    assert len(names) == 24
    assert names == sorted(names)
    assert names[-1] == "g59"
    assert "the 24 most frequent of 60 levels" in ax.get_title()


def test_rules_of_a_penalty_can_be_read_over_lines_at_zero(toy: pd.DataFrame) -> None:
    m = crank.linear(toy, "y ~ x1 + x2 + g", penalty="cv", l1_ratio=1.0)
    ax = m.plot_path(ax=Figure().subplots())
    words = [text for text in ax.texts if "cv" in text.get_text() or "1se" in text.get_text()]
    highest = max(line.get_zorder() for line in ax.lines)
    assert words
    assert all(w.get_bbox_patch() is not None and w.get_zorder() > highest for w in words)


def test_axis_labels_are_not_broken_at_hyphens() -> None:
    assert folded("AUC of y above the threshold, cross-fitted").endswith("\ncross-fitted")
