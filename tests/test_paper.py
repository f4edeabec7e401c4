from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from crank import paper
from crank.cli import main
from crank.paper import Contestant
from tests.narrowing import present


@pytest.fixture(scope="module")
def trees() -> list[Contestant]:
    return paper.contestants()


@pytest.fixture(scope="module")
def table(trees: list[Contestant]) -> pd.DataFrame:
    return paper.comparison_table(trees).set_index("tree")


def test_cart_has_the_published_figures(table: pd.DataFrame) -> None:
    cart = table.loc["CART"]
    assert cart["IAUC"] == pytest.approx(0.618, abs=0.002)
    assert cart["d_tau"] == pytest.approx(cart["published_d_tau"], abs=0.005)
    assert cart["MSE"] == pytest.approx(cart["published_MSE"], rel=0.02)
    # trap 1: the other weighting is another number
    assert cart["IAUC_uniform"] == pytest.approx(0.66, abs=0.01)


def test_the_published_kendall_figure_counts_separated_pairs(table: pd.DataFrame) -> None:
    for name in ("CRank", "Kendall"):
        row = table.loc[name]
        assert row["d_tau"] == pytest.approx(0.851, abs=0.003)
        assert row["separated"] == pytest.approx(0.92, abs=0.005)
        assert abs(row["separated"] - row["published_d_tau"]) < 0.01


def test_separated_pairs_are_counted_as_said(trees: list[Contestant]) -> None:
    from crank import datasets

    _, test = datasets.paper_sample()
    x = test.X["x"].to_numpy()[:300]
    score = trees[1].score(x)
    pairs = [(a != b) + 0.5 * (a == b) for k, a in enumerate(score) for b in score[:k]]
    _, same = np.unique(score, return_counts=True)
    tied = (same * (same - 1)).sum() / (300 * 299)
    assert np.mean(pairs) == pytest.approx(1 - tied / 2)


def test_only_quoted_figures_are_published(table: pd.DataFrame) -> None:
    known = table.filter(like="published").notna()
    assert known.loc["CART"].all()
    assert known.loc[["CRank", "Kendall"], "published_d_tau"].all()
    assert known.to_numpy().sum() == 5
    text = paper.report(table.reset_index())
    assert text.count("not quoted") == 3 * len(table) - 5


def test_rank_and_value_scales_agree_in_order(trees: list[Contestant]) -> None:
    x = np.linspace(0, 1, 500)
    for tree in trees[1:]:
        score, quantile = tree.score(x), tree.quantile(x)
        assert len(np.unique(score)) == len(np.unique(quantile))
        assert 0 < score.min() <= score.max() <= 1


def test_figures_show_three_trees_and_the_regression_function(trees: list[Contestant]) -> None:
    pytest.importorskip("matplotlib")
    left, right = paper.score_figure(trees).axes
    assert [line.get_label() for line in left.lines] == ["m(x)", "CART", "CRank", "Kendall"]
    assert len(right.lines) == 4
    (ax,) = paper.iroc_figure(trees).axes
    labels = [text.get_text() for text in present(ax.get_legend()).get_texts()]
    assert labels[0] == "CART (IAUC 0.618)"
    assert len(labels) == 3


def test_the_command_writes_report_table_and_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "new" / "paper"
    assert main(["demo", "--paper", "--output", str(folder)]) == 0
    assert "| CART | 0.61 | 0.618 |" in capsys.readouterr().out
    names = {path.name for path in folder.iterdir()}
    figures = {f"paper-{what}.{form}" for what in ("scores", "iroc") for form in ("png", "svg")}
    assert names == figures | {"paper.md", "paper.csv"}
    assert (folder / "paper-iroc.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (folder / "paper-scores.svg").read_bytes()
    assert len(pd.read_csv(folder / "paper.csv")) == 5


def test_a_failed_drawing_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")

    def fail(figure: Figure, form: str) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(paper, "_rendered", fail)
    with pytest.raises(OSError, match="no space"):
        paper.run_paper(tmp_path, say=lambda text: None)
    assert not list(tmp_path.iterdir())
