"""The summary: R's order, plain words, three formats."""

import re

import pytest

import crank


@pytest.fixture
def summary(toy):
    return crank.fit(toy, "y ~ x1 + log(x2) + C(g)", criterion="kendall").summary()


def test_sections_come_in_rs_order(summary):
    text = str(summary)
    titles = ["Call:", "Data:", "Tree:", "Fit:", "Pruning", "Variable importance:", "Leaves"]
    places = [text.index(title) for title in titles]
    assert places == sorted(places)


def test_figures_are_labelled_and_the_call_can_be_read_back(summary):
    text = str(summary)
    for label in ("IAUC, cross-validated", "d_tau, cross-validated", "d_tau, training"):
        assert label in text
    assert "crank.fit(data, 'y ~ x1 + log(x2) + C(g)', learner='stump'" in text
    assert "Sums to" in text


def test_html_escapes_and_holds_every_table(summary):
    page = summary._repr_html_()
    assert page.count("<table") == 4
    assert "&lt;" in page or "&gt;" in page
    assert not re.search(r"x1 [<>] ", page)


def test_latex_is_balanced_and_escaped(summary):
    text = summary.to_latex()
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 4
    body = re.sub(r"\\[\\_&%$#{}]|\\[a-z]+", "", text)
    assert "_" not in body
    for line in text.splitlines():
        if line.endswith(r"\\") and " & " in line:
            assert line.count("{") == line.count("}")


def test_a_tree_without_validation_says_so(toy):
    text = str(crank.fit(toy, "y ~ x1", prune=None).summary())
    assert "not pruned" in text
    assert "cross-validated" not in text
    assert "Pruning" not in text
