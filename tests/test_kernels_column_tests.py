"""Tests on one column, and the tables that trees of them make."""

import math
from typing import Any

import numpy as np
import pytest

from crank.kernels.column_tests import MOST_LEVELS, ColumnTest, tree_of_tests
from crank.plugins.stump import StumpRule

LEAVES = np.array([0, 1, -1])
LARGEST = np.finfo(np.float64).max


def side(rule: StumpRule, x: Any) -> list[int]:
    """Send numbers left (1) or right (−1) by a table of one test."""
    nodes = tree_of_tests([(rule.column_test(), 1, 2), None, None], LEAVES)
    assert nodes is not None
    return list(nodes.sum(np.array(x, dtype=float)[:, None]).tolist())


def asked(rule: StumpRule, x: Any) -> list[int]:
    """Ask the rule itself."""
    return list(np.where(rule.decision(np.array(x, dtype=float)[:, None]) > 0, 1, -1).tolist())


@pytest.mark.parametrize("threshold", [None, 0.0, 0.1, -LARGEST, LARGEST])
@pytest.mark.parametrize("above", [True, False])
@pytest.mark.parametrize("missing_left", [True, False])
def test_a_threshold_parts_numbers_as_the_rule_does(
    threshold: float | None, above: bool, missing_left: bool
) -> None:
    rule = StumpRule(0, threshold, above, None, missing_left)
    t = threshold or 0.0
    x = [t, math.nextafter(t, -np.inf), math.nextafter(t, np.inf), -0.0, np.nan, np.inf, -np.inf]
    assert side(rule, x) == asked(rule, x)


@pytest.mark.parametrize("levels", [((0, 3), (1,)), ((), (2,)), ((4,), ()), ((), ())])
@pytest.mark.parametrize("missing_left", [True, False])
def test_levels_go_as_the_rule_says_and_all_others_like_missing_values(
    levels: tuple[Any, ...], missing_left: bool
) -> None:
    rule = StumpRule(0, None, True, levels, missing_left)
    x = [0, 1, 2, 3, 4, 5, -1, 1.5, 1e300, np.nan, np.inf, -np.inf]
    assert side(rule, x) == asked(rule, x)


def test_what_forms_no_tree_is_refused() -> None:
    test = ColumnTest(0, 0.0, True, None, False)
    for left, right in [(0, 1), (1, 3), (-1, 2), (1, 1)]:
        with pytest.raises(ValueError, match="no trees"):
            tree_of_tests([(test, left, right), None, None], LEAVES)
    with pytest.raises(ValueError, match="no trees"):
        tree_of_tests([(test._replace(column=-1), 1, 2), None, None], LEAVES)


@pytest.mark.parametrize("code", [MOST_LEVELS, 10**12, -1])
def test_codes_that_a_table_should_not_list_make_none(code: int) -> None:
    test = ColumnTest(0, None, True, ((0, code), (1,)), False)
    assert tree_of_tests([(test, 1, 2), None, None], LEAVES) is None
