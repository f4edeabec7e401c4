"""The summary: R's order, plain words, three formats."""

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import crank
from crank.report.summary import Summary


@pytest.fixture
def summary(toy: pd.DataFrame) -> Summary:
    return crank.fit(toy, "y ~ x1 + log(x2) + C(g)", criterion="kendall").summary()


def test_sections_come_in_rs_order(summary: Summary) -> None:
    text = str(summary)
    titles = ["Call:", "Data:", "Tree:", "Fit:", "Pruning", "Variable importance:", "Leaves"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_figures_are_labelled_and_the_call_can_be_read_back(summary: Summary) -> None:
    text = str(summary)
    for label in ("IAUC, cross-validated", "d_tau, cross-validated", "d_tau, training"):
        assert label in text
    assert "crank.fit(data, 'y ~ x1 + log(x2) + C(g)', criterion='kendall')" in text
    assert "Sums to" in text


def test_html_escapes_and_holds_every_table(summary: Summary) -> None:
    page = summary._repr_html_()
    assert page.count("<table") == 4
    assert "&lt;" in page or "&gt;" in page
    assert not re.search(r"x1 [<>] ", page)


def test_latex_is_balanced_and_escaped(summary: Summary) -> None:
    text = summary.to_latex()
    kinds = ("tabular", "longtable")
    for end in ("begin", "end"):
        assert sum(text.count(rf"\{end}{{{kind}}}") for kind in kinds) == 4
    assert text.isascii()
    body = re.sub(r"\\[\\_&%$#{}]|\\[a-z]+", "", text)
    assert "_" not in body
    for line in text.splitlines():
        if line.endswith(r"\\") and " & " in line:
            assert line.count("{") == line.count("}")


def awkward() -> pd.DataFrame:
    """Column and level names with whatever characters LaTeX minds."""
    rng = np.random.default_rng(0)
    n = 300
    levels = [
        "50% & more",
        "a_b^c",
        "{x}",
        "\\ back",
        "#1 $",
        "~",
        "[q]",
        "größer",
        "猫",
        "τ ≤ ½",
        "„x“",
    ]
    frame = pd.DataFrame({"g [1]": rng.choice(levels, n), "τ_1": rng.normal(size=n)})
    frame["y"] = frame["g [1]"].map(levels.index) + frame["τ_1"] + rng.normal(size=n)
    return frame


@pytest.mark.parametrize("learner", ["stump", "logistic"])
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_pdflatex_compiles_the_summary(learner: str, tmp_path: Path) -> None:
    m = crank.fit(awkward(), "y ~ `g [1]` + `τ_1`", learner=learner, criterion="kendall", cv=3)
    text = m.summary().to_latex(standalone=True)
    (tmp_path / "summary.tex").write_text(text, encoding="utf-8")
    run = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "summary.tex"],
        cwd=tmp_path, capture_output=True, text=True, errors="replace",
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-2000:]
    assert (tmp_path / "summary.pdf").stat().st_size > 1000
    assert "too high" not in run.stdout
    too_wide = [float(w) for w in re.findall(r"Overfull \\hbox \((\S+)pt too wide", run.stdout)]
    assert max(too_wide, default=0.0) < 20.0


def test_long_rules_wrap_in_latex(toy: pd.DataFrame) -> None:
    m = crank.fit(toy, "y ~ x1 + x2 + g", max_depth=4, prune=None)
    assert r"\raggedright\arraybackslash}p{" in m.summary().to_latex()


def test_a_tree_without_validation_says_so(toy: pd.DataFrame) -> None:
    text = str(crank.fit(toy, "y ~ x1", prune=None).summary())
    assert "not pruned" in text
    assert "cross-validated" not in text
    assert "Pruning" not in text


def test_what_importances_sum_to_has_its_right_name(summary: Summary) -> None:
    assert "Kendall's tau (with tied scores, Somers' D) of the tree" in str(summary)
