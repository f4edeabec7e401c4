"""What estimators with a split learner share: directions of columns, groups, tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.estimators.base import RankingEstimator
from crank.metrics.groups import check_several, read_groups
from crank.plugins.base import SplitLearner
from crank.plugins.registry import get_learner


class LearnerEstimator(RankingEstimator):
    """The base of estimators whose nodes are split by a learner."""

    learner: str | SplitLearner
    learner_params: Mapping[str, Any] | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            tags.input_tags.allow_nan = get_learner(self.learner, self.learner_params).takes_missing
        except Exception:  # a bad learner is reported by fit, not by its tags
            tags.input_tags.allow_nan = False
        return tags


def group_numbers(groups: Any, n: int, sample_weight: Any) -> NDArray[np.intp] | None:
    """Give each row that is used the number of its group; rows of weight 0 are not used."""
    if groups is None:
        return None
    kept = np.asarray(groups)
    if len(kept) != n and sample_weight is not None:
        kept = kept[np.asarray(sample_weight) > 0]
    labels = read_groups(kept, n).astype(np.intp)
    check_several(labels)
    return labels
