"""The answer: a table, a verdict, and the test behind them."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.checks import check_alpha, generator, whole
from crank.errors import OptionError
from crank.fitting.folds import stratified_folds
from crank.judging.comparison import holm
from crank.judging.diagnose.crossfit import (
    Cut,
    Rows,
    check_quantiles,
    find_cuts,
    judge_folds,
    read_task,
)
from crank.judging.diagnose.refits import Refit, read_refits
from crank.metrics.student import upper_tail
from crank.plugins.base import SplitLearner
from crank.progress import track
from crank.ranks import rank
from crank.records.base import ModelRecord
from crank.records.tree import TreeRecord
from crank.report.summary import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REMEDIES = {
    "tree": "more leaves, another learner or an ensemble (crank.forest)",
    "linear": "curves, interactions or an ensemble (crank.forest, crank.boost)",
    "additive": "interactions or an ensemble (crank.forest, crank.boost)",
    "forest": "more trees, smaller leaves or another kind (crank.boost, crank.blend)",
    "booster": "more rounds or another kind (crank.forest, crank.blend)",
    "blend": "other members or effort='best'",
}
"""What helps a model of each kind that is worse than the trees of its diagnosis."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
PROFILE = tuple(k / 20 for k in range(1, 20))


@dataclass(frozen=True)
class Diagnosis:
    """What `RankingModel.diagnose` found; `print` it, or `plot` it.

    Attributes
    ----------
    table : DataFrame
        A row for each threshold: quantile, threshold; auc_model, auc_one_order, auc_dedicated; gain
        and se (dedicated minus one order), gain_model and se_model (dedicated minus model), pvalue
        (one-sided, of a gain over both beyond the margin, adjusted by Holm), conflict (bool); finer
        and se_finer (one order minus model).
    profile : DataFrame
        AUC along y, of the model and of the one order: quantile, threshold, auc_model,
        auc_one_order.
    verdict : str
    one_order_serves : bool
        Whether no threshold shows a conflict.
    response : str
    n, folds : int
    margin, alpha : float

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
    >>> found = m.diagnose(test.frame, cv=2)
    >>> found.one_order_serves, found.folds
    (False, 2)
    >>> print(found.verdict.partition(".")[0])
    No single order serves all thresholds
    """

    table: pd.DataFrame
    profile: pd.DataFrame
    verdict: str
    one_order_serves: bool
    response: str
    n: int
    folds: int
    margin: float
    alpha: float

    def __str__(self) -> str:
        shown = self.table.drop(columns=["finer", "se_finer"])
        far = _digits(shown["threshold"].to_numpy())
        lines = shown.to_string(
            index=False,
            float_format="{:.4g}".format,
            formatters={"threshold": f"{{:.{far}g}}".format},
        )
        return (
            f"Does one order of {self.response} serve all thresholds? "
            f"n = {self.n}, {self.folds} folds\n\n{lines}\n\n{fill(self.verdict, 88)}"
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title = f"Does one order of {self.response} serve all thresholds?"
        shown = self.table.drop(columns=["finer", "se_finer"])
        rows = f"n = {self.n}, {self.folds} folds"
        return (
            f"<div><h4>{html.escape(title)}</h4><p>{html.escape(self.verdict)}</p>"
            f"{html_table(shown)}<p><small>{rows}</small></p></div>"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw AUC against the threshold's quantile: model, one order, dedicated rankers."""
        from crank.judging.diagnose.plot import plot_diagnosis

        return plot_diagnosis(self, ax=ax)


def diagnose(
    model: ModelRecord,
    data: Any,
    *,
    refit: Refit | None = None,
    thresholds: Sequence[float] = QUANTILES,
    cv: int = 5,
    margin: float = 0.01,
    alpha: float = 0.05,
    weights: Any = None,
    unknown: Any = "error",
    learner: SplitLearner | None = None,
    random_state: int | None = 0,
    progress: bool | None = None,
) -> Diagnosis:
    """Ask whether one order serves all thresholds of y, as the monotone likelihood ratio implies.

    In each fold the model's procedure is repeated without the held-out rows, and a tree is grown
    for each threshold's own binary problem. All these trees together give each held-out row a
    dedicated score for each threshold t, the mean share of responses above t in its leaves, and one
    score for all thresholds, the mean rank in the same leaves. The two differ in their order
    only, so a dedicated score that wins shows that the orders conflict, not that it is finer.

    A model that is no tree is fitted again by its own call in each fold; trees of stumps on its
    raw columns, one of them for y itself, give the other scores.

    Parameters
    ----------
    model : RankingModel
    refit : callable, optional
        Fits the model again to some rows; needed unless it is a tree.
    data : data frame
        With the response; training rows may be among them, since every fit is repeated.
    thresholds : sequence of float
        Quantiles of y, between 0 and 1.
    cv : int
        Folds.
    margin : float
        AUC that one order may lose before it counts as a conflict.
    alpha : float
        Level of the test, over all thresholds together.
    weights : str or array-like, optional
        Case weights.
    unknown : {"error", "missing"}
        What to do with a category level that training did not have.
    learner : SplitLearner, optional
        A tree's split learner, if it is not installed under its name.
    random_state : int or None
        Seeds the folds.
    progress : bool, optional
        By default a bar is shown on a terminal or in a notebook when it takes a while.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.no_optimal_rule(600, random_state=0)
    >>> m = crank.fit(sample.frame, "y ~ x", prune=None)
    >>> m.diagnose(sample.frame).one_order_serves
    False
    """
    whole("cv", cv, 2)
    check_alpha(alpha)
    if not 0.0 <= margin < 0.5:
        raise OptionError(f"margin={margin!r} is not allowed. Allowed: an AUC from 0 to below 0.5.")
    task: Rows
    if refit is None:
        assert isinstance(model, TreeRecord)
        task = read_task(model, data, weights=weights, unknown=unknown, learner=learner)
    else:
        if learner is not None:
            raise OptionError(
                f"learner={learner!r} is not allowed: a {model.kind} ranker has none."
            )
        task = read_refits(model, data, refit, weights=weights, unknown=unknown)
    ranks = rank(task.y, task.weight)
    wanted = check_quantiles(thresholds)
    asked = find_cuts(ranks, wanted, cv, strict=tuple(wanted) != QUANTILES)
    along = find_cuts(ranks, PROFILE, cv, strict=False)
    fold = np.empty(len(task.y), dtype=np.intp)
    fold[ranks.row] = stratified_folds(ranks, cv, generator(random_state))
    held = list(track(judge_folds(task, fold, cv, asked, along), cv, "diagnosis", show=progress))
    table = _table(asked, np.array([found for found, _ in held]), margin, alpha)
    model_auc, one_auc = np.mean([profile for _, profile in held], axis=0)
    profile = _places(along).assign(auc_model=model_auc, auc_one_order=one_auc)
    return Diagnosis(
        table=table,
        profile=profile,
        verdict=_verdict(model, table, margin, alpha, ranks.n_distinct),
        one_order_serves=not table["conflict"].any(),
        response=model.response.name,
        n=len(task.y),
        folds=cv,
        margin=margin,
        alpha=alpha,
    )


def _places(cuts: list[Cut]) -> pd.DataFrame:
    return pd.DataFrame(
        {"quantile": [c.quantile for c in cuts], "threshold": [c.threshold for c in cuts]}
    )


def _table(
    asked: list[Cut], found: NDArray[np.float64], margin: float, alpha: float
) -> pd.DataFrame:
    """Average over folds, which are disjoint samples, and test at all thresholds together."""
    folds = len(found)
    mean = found.mean(axis=0).T
    gain, gain_model, finer = mean[3::2]
    se, se_model, se_finer = np.sqrt(mean[4::2] / folds)
    # a conflict must show against every single order at hand: the larger p-value counts
    p = np.maximum(_beyond(gain, se, margin), _beyond(gain_model, se_model, margin))
    adjusted = holm(p)
    return _places(asked).assign(
        auc_model=mean[0],
        auc_one_order=mean[1],
        auc_dedicated=mean[2],
        gain=gain,
        se=se,
        gain_model=gain_model,
        se_model=se_model,
        pvalue=adjusted,
        conflict=adjusted < alpha,
        finer=finer,
        se_finer=se_finer,
    )


def _beyond(
    gain: NDArray[np.float64], se: NDArray[np.float64], margin: float
) -> NDArray[np.float64]:
    """One-sided p-values of gains no larger than the margin."""
    z = (gain - margin) / np.maximum(se, 1e-12)
    return np.array([upper_tail(value) for value in z.tolist()])


def _verdict(
    model: ModelRecord, table: pd.DataFrame, margin: float, alpha: float, n_distinct: int
) -> str:
    if n_distinct == 2:
        text = (
            f"{model.response.name} has two values here, and so one threshold: there is nothing "
            "that an order for all thresholds could lose."
        )
    elif table["conflict"].any():
        return _conflict_text(model, table[table["conflict"]], margin)
    else:
        text = _no_conflict_text(table, margin, alpha)
    p = holm(_beyond(table["finer"].to_numpy(), table["se_finer"].to_numpy(), margin))
    if (p < alpha).any():
        best = table.iloc[int(np.argmax(np.where(p < alpha, table["finer"], -1.0)))]
        text += (
            " This model is not quite that order: averaging several trees ranks better by up to "
            f"{best['finer']:.3f} AUC (at the {_percent(best)} quantile), so "
            f"{REMEDIES[model.kind]} should help."
        )
    return text


def _no_conflict_text(table: pd.DataFrame, margin: float, alpha: float) -> str:
    most = table.iloc[int(np.argmax(table["gain"]))]
    reach = NormalDist().inv_cdf(1.0 - alpha / len(table))  # for all thresholds at once
    bound = max(float((table["gain"] + reach * table["se"]).max()), 0.0)
    return (
        "No conflict found: no ranker made for one threshold beats one order for all by more than "
        f"{margin:g} AUC beyond chance. The largest gain is {most['gain']:.3f} "
        f"(se {most['se']:.3f}), at the {_percent(most)} quantile; gains above {bound:.3f} are "
        f"excluded with {100 * (1 - alpha):g}% confidence."
    )


def _conflict_text(model: ModelRecord, rows: pd.DataFrame, margin: float) -> str:
    each = [
        f"{_percent(row)} (AUC {row['auc_dedicated']:.3f} against {row['auc_one_order']:.3f} for "
        f"one order and {row['auc_model']:.3f} for this model)"
        for _, row in rows.iterrows()
    ]
    name = model.response.name
    how = " and criterion='kendall'" if model.kind == "tree" else ""
    return (
        "No single order serves all thresholds. A ranker made for one threshold wins by more than "
        f"{margin:g} AUC beyond chance at the quantile{'s' * (len(each) > 1)} {', '.join(each)}. "
        f"The likelihood ratio is not monotone in {name}: if one threshold t matters, rank for it, "
        f"with {name} > t as the response{how}."
    )


def _digits(thresholds: NDArray[np.float64]) -> int:
    """Count the digits that tell thresholds apart, however far from 0 they lie."""
    spread = float(thresholds.max() / 2.0 - thresholds.min() / 2.0)
    if spread == 0.0:
        return 6
    far = float(np.abs(thresholds).max()) / 2.0 / spread
    return min(17, max(4, math.ceil(math.log10(max(far, 1.0))) + 3))


def _percent(row: pd.Series[Any]) -> str:
    return f"{100.0 * row['quantile']:.0f}%"
