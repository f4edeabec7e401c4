"""Options: defaults are valid, everything else is refused with what, got, allowed."""

from typing import Any

import pytest

from crank.errors import CrankError, OptionError
from crank.rankers.options import TreeOptions


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("criterion", "kendal", "Did you mean 'kendall'?"),
        ("criterion", None, "Allowed: auto, crank, kendall, iauc, spearman"),
        ("max_depth", 0, "an integer from 1 to 50"),
        ("max_depth", 51, "an integer from 1 to 50"),
        ("max_depth", 2.5, "max_depth=2.5"),
        ("max_depth", True, "max_depth=True"),
        ("min_samples_leaf", 0, "an integer from 1 up"),
        ("leaf_order", "ranks", "Did you mean 'rank'?"),
        ("prune", "2se", "'cv', '1se', None"),
        ("prune", ["cv"], "prune=['cv']"),
        ("cv", 1, "an integer from 2 up"),
        ("cv_repeats", 0, "an integer from 1 up"),
        ("random_state", -1, "an integer from 0 up"),
        ("n_jobs", 0, "Use -1 for one thread a core."),
    ],
)
def test_a_value_that_is_not_allowed_is_refused(option: str, value: Any, says: str) -> None:
    with pytest.raises(OptionError) as error:
        TreeOptions(**{option: value})
    assert says in str(error.value)
    assert isinstance(error.value, CrankError)
    assert isinstance(error.value, ValueError)


def test_threads_are_resolved() -> None:
    assert TreeOptions(n_jobs=3).threads == 3
    assert TreeOptions(n_jobs=-1).threads >= 1


def test_options_round_trip_as_plain_data() -> None:
    options = TreeOptions(criterion="iauc", cv=5)
    assert TreeOptions(**options.to_dict()) == options
