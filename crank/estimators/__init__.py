"""scikit-learn estimators: arrays in, scores out; one file a kind of ranker."""

from crank.estimators.additive import RankingAdditive
from crank.estimators.blend import RankingBlend
from crank.estimators.booster import RankingBooster
from crank.estimators.forest import RankingForest
from crank.estimators.linear import RankingLinear
from crank.estimators.tree import RankingTree

__all__ = [
    "RankingAdditive",
    "RankingBlend",
    "RankingBooster",
    "RankingForest",
    "RankingLinear",
    "RankingTree",
]
