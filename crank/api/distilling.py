"""Distillation: a readable model that puts rows in the order of another model, `crank.distill`."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crank.api.blend_members import fold_scores
from crank.api.fit_linear import linear
from crank.api.fit_tree import fit
from crank.checks import generator, one_of, whole
from crank.errors import DataError
from crank.fitting.estimate import Judged, pooled_estimate
from crank.fitting.folds import fold_count, stratified_folds
from crank.frames.table import Table
from crank.frames.weights import read_weights
from crank.metrics.figures import KENDALL
from crank.models.linear import LinearModel
from crank.models.tree import TreeModel
from crank.rankers.validation import Estimate
from crank.ranks import Ranks, rank
from crank.records.base import DesignedRecord, ModelRecord

TEACHER = "model_score"
"""Name of the response that a distilled model is fitted to."""
DEEPEST = 8
"""Depth of the tree before it is pruned to its leaves."""


@dataclass(frozen=True)
class Distilled:
    """A readable model beside the one that it mimics.

    Attributes
    ----------
    model : TreeModel or LinearModel
        Fitted to the other model's scores.
    fidelity : Estimate
        d_τ between the scores of the two, on rows that the readable one has not seen: how often a
        pair is in the same order.
    price : Estimate or None
        d_τ on y of the other model minus that of the readable one, on the same rows; None if the
        data has no y.
    n : int
        Rows.

    Examples
    --------
    >>> import crank
    >>> train, test = crank.datasets.paper_sample()
    >>> m = crank.fit(train.frame, "y ~ x", criterion="kendall", max_depth=2, prune=None)
    >>> short = crank.distill(m, test.frame, max_leaves=3)
    >>> round(short.fidelity.estimate, 3), round(short.price.estimate, 3), short.n
    (0.934, 0.045, 2000)
    """

    model: TreeModel | LinearModel
    fidelity: Estimate
    price: Estimate | None
    n: int

    def __str__(self) -> str:
        lines = [f"{type(self.model).__name__} that mimics another model, on {self.n} rows", ""]
        lines.append(_line("fidelity (d_tau between the two)", self.fidelity))
        if self.price is not None:
            lines.append(_line("price (d_tau on y that is lost)", self.price))
        return "\n".join([*lines, "", str(self.model)])


def _line(label: str, found: Estimate) -> str:
    return (
        f"  {label.ljust(34)}{found.estimate:.4f}  se {found.se:.4f}"
        f"  [{found.ci_low:.4f}, {found.ci_high:.4f}]"
    )


def distill(
    model: ModelRecord,
    data: Any,
    formula: str | None = None,
    *,
    max_leaves: int = 12,
    kind: Literal["tree", "linear"] = "tree",
    weights: Any = None,
    cv: int = 10,
    random_state: int = 0,
    unknown: Literal["error", "missing"] = "error",
) -> Distilled:
    """Fit a readable model to the order of any other, and say how well it keeps it.

    Parameters
    ----------
    model : RankingModel
        What is to be mimicked.
    data : data frame
        Rows to learn from. No y is needed; where there is one, rows that the model was not trained
        on make the price honest.
    formula : str, optional
        Right side of a formula, such as ``"x1 + g"``; by default the columns of the model's own.
    max_leaves : int
        Most leaves of the tree.
    kind : {"tree", "linear"}
        An oriented tree, or a linear ranker with a light penalty.
    weights : str or array-like, optional
        Case weights; rows whose weight is 0 or missing are left out.
    cv : int
        Folds on which fidelity and price are measured.
    random_state : int
        Deals the rows out to folds.
    unknown : {"error", "missing"}
        What to do with levels that the model has not met.

    Returns
    -------
    Distilled

    Examples
    --------
    >>> import crank
    >>> sample = crank.datasets.regression(400, p=5, random_state=0).frame
    >>> m = crank.linear(sample[:200], "y ~ .")
    >>> found = crank.distill(m, sample[200:], max_leaves=6)
    >>> found.model.tree.n_leaves <= 6, 0.5 < found.fidelity.estimate < 1.0
    (True, True)
    """
    whole("max_leaves", max_leaves, 2)
    whole("cv", cv, 2)
    one_of("kind", kind, ("tree", "linear"))
    table = Table.read(data)
    w = read_weights(weights, table, data)
    if w is not None and not (w > 0.0).all():  # rows of weight zero are as if absent
        kept = w > 0.0
        if not kept.any():
            raise DataError("no row has a weight above zero: there is nothing to learn from.")
        table, w = table.rows(kept), w[kept]
    score = np.asarray(model.values(table, unknown=unknown), dtype=np.float64)
    ranks = rank(score, w)
    if ranks.n_distinct < 2:
        raise DataError("the model gives all rows the same score: there is no order to mimic.")
    taught = _with_score(table, score, model, formula)
    text = f"{TEACHER} ~ {formula or _right_side(model)}"

    def student(rows: NDArray[np.intp] | None) -> TreeModel | LinearModel:
        part = taught if rows is None else taught.rows(rows)
        given = None if w is None else w if rows is None else w[rows]
        if kind == "linear":
            return linear(part, text, penalty=0.001, cv=None, weights=given)
        tree = fit(part, text, criterion="kendall", max_depth=DEEPEST, prune=None, weights=given)
        return tree if tree.tree.n_leaves <= max_leaves else tree.prune(n_leaves=max_leaves)

    rng = generator(random_state)
    fold = stratified_folds(ranks, fold_count(ranks, cv, otherwise="more rows"), rng)
    mimicked = np.empty(len(score))
    for k in range(int(fold.max()) + 1):
        rows, test = (np.sort(ranks.row[at]) for at in (fold != k, fold == k))
        found = student(rows)
        assert isinstance(found, DesignedRecord)
        mimicked[test] = fold_scores(found, taught.rows(test))
    tests = [ranks.subset(fold == k) for k in range(int(fold.max()) + 1)]
    fidelity = pooled_estimate(
        [[Judged(mimicked[test.row], test) for test in tests]], len(score), KENDALL
    )
    assert fidelity is not None
    return Distilled(
        model=student(None),
        fidelity=fidelity,
        price=_price(model, table, score, mimicked, [test.row for test in tests], w),
        n=len(score),
    )


def _right_side(model: ModelRecord) -> str:
    return model.formula.split("~", 1)[1].strip()


def _with_score(
    table: Table, score: NDArray[np.float64], model: ModelRecord, formula: str | None
) -> Table:
    """Put the scores beside the columns that a formula may read; a dot must not meet y."""
    hidden = {variable.name for variable in model.response.variables}
    read = {variable.name for variable in model.variables}
    names = tuple(
        name for name in table.names if (name in read if formula is None else name not in hidden)
    )
    return Table(
        (*names, TEACHER),
        table.n_rows,
        lambda name: score if name == TEACHER else table._column(name),
        lambda name: "float64" if name == TEACHER else table.dtype(name),
    )


def _price(
    model: ModelRecord,
    table: Table,
    score: NDArray[np.float64],
    mimicked: NDArray[np.float64],
    folds: list[NDArray[np.intp]],
    w: NDArray[np.float64] | None,
) -> Estimate | None:
    """Compare the two on y, within folds, with the influence of each row on the difference."""
    if any(variable.name not in table.names for variable in model.response.variables):
        return None
    y = model.response.values(table)
    shares: list[float] = []
    lost: list[float] = []
    influences: list[NDArray[np.float64]] = []
    for rows in folds:
        rows = rows[~np.isnan(y[rows])]
        weight = None if w is None else w[rows]
        judged: Ranks | None = rank(y[rows], weight) if len(rows) > 1 else None
        if judged is None or KENDALL.total(judged) <= 0.0:
            continue
        theirs, of_theirs = KENDALL.influence(y[rows], score[rows], weight)
        ours, of_ours = KENDALL.influence(y[rows], mimicked[rows], weight)
        shares.append(KENDALL.total(judged))
        lost.append(theirs - ours)
        influences.append(of_theirs - of_ours)
    if not shares:
        return None
    share = np.array(shares) / sum(shares)
    estimate = float(share @ lost)
    rows_part = sum(
        float((s * each) @ (s * each)) for s, each in zip(share, influences, strict=True)
    )
    off = share * (np.array(lost) - estimate)
    between = float(off @ off) * len(share) / max(len(share) - 1, 1)
    se = float(np.sqrt(rows_part + between))
    reach = NormalDist().inv_cdf(0.975) * se
    return Estimate(estimate, se, estimate - reach, estimate + reach)
