"""The arguments of every function that makes a model, by name, so that editors complete them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from crank.plugins.base import SplitLearner


class Arguments(TypedDict, total=False):
    """What `RankingModel.update` may change; the kind of the model says which of them it takes."""

    # rows and what belongs to them
    weights: Any
    groups: Any
    subset: Any
    na_action: Literal["drop", "raise"]
    context: Mapping[str, Callable[..., Any]] | None

    # how the work is done
    random_state: int | None
    n_jobs: int
    progress: bool | None
    client: Any
    sample: int | None
    time_limit: float | None
    keep_on_interrupt: bool

    # choosing and constraining, for several kinds
    cv: int | None
    metric: str
    monotone: Mapping[str, str | int] | None

    # trees and forests
    learner: str | SplitLearner
    learner_params: Mapping[str, Any] | None
    criterion: str
    max_depth: int
    min_samples_leaf: int | Literal["auto"]
    leaf_order: Literal["auto", "oriented", "rank"]
    prune: Literal["cv", "1se"] | None
    cv_repeats: int
    n_trees: int
    max_features: int | float | Literal["auto", "sqrt"] | None
    thresholds: Literal["auto", "best", "random", "mixed"]
    bootstrap: bool
    max_samples: float | None

    # linear and additive rankers
    link: Literal["logit", "probit"]
    penalty: float | Literal["cv", "1se"]
    l1_ratio: float
    smoothing: float | None
    pairs: int | Literal["auto"] | Sequence[tuple[str, str]]

    # boosters
    loss: Literal["concordance", "rank", "y"]
    kappa: float
    rounds: int | None
    max_rounds: int
    patience: int
    trees: Literal["small", "large"]
    params: Mapping[str, Any] | None
    interaction: Sequence[Sequence[str]] | Literal["none"] | None

    # blends
    members: Sequence[str] | Mapping[str, Any] | None
    effort: Literal["quick", "default", "best"]
