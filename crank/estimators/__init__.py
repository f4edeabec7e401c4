"""scikit-learn estimators: arrays in, scores out; one file a kind of ranker."""

from crank.estimators.linear import RankingLinear
from crank.estimators.tree import RankingTree

__all__ = ["RankingLinear", "RankingTree"]
