"""The rows of a fit: weights, groups, a subset, and what becomes of missing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crank.checks import one_of
from crank.errors import DataError, OptionError
from crank.formula import ParsedFormula, parse_formula, read_subset
from crank.frames.alignment import check_aligned
from crank.frames.fingerprint import data_fingerprint
from crank.frames.partitioned import is_dask, only_for_dask
from crank.frames.profile import ColumnProfile, profiles
from crank.frames.table import Table
from crank.frames.weights import read_weights
from crank.metrics.groups import check_several, missing_labels, read_groups
from crank.rankers.validation import Estimate
from crank.ranks import Ranks
from crank.records.provenance import TrainingInfo
from crank.records.scored import group_labels


@dataclass(frozen=True)
class TrainingRows:
    """A formula that has been parsed, and the rows that it is fitted to.

    Attributes
    ----------
    parsed : ParsedFormula
    table : Table
        Rows that can be used, and no others.
    weights : ndarray or None
        Their case weights, all above 0.
    groups : ndarray of int or None
        The number of each row's group, from 0.
    n_dropped, n_zero_weight : int
        Rows left out because a value is missing, and because they weigh nothing.
    missing : mapping of str to int
        Missing values of each predictor, in the rows used and dropped together.
    """

    parsed: ParsedFormula
    table: Table
    weights: NDArray[np.float64] | None
    groups: NDArray[np.intp] | None
    n_dropped: int
    n_zero_weight: int
    missing: Mapping[str, int]

    @property
    def columns(self) -> dict[str, ColumnProfile]:
        """How the values of each predictor are spread."""
        predictors = (v for v in self.parsed.variables if v not in self.parsed.response_variables)
        return profiles(self.table, predictors)

    @property
    def fingerprint(self) -> str:
        """Digest of the columns of the formula, and of the weights, in the rows used."""
        return data_fingerprint(self.table, self.parsed.variables, self.weights)

    @property
    def n_groups(self) -> int | None:
        """Number of groups, if rows belong to some."""
        return None if self.groups is None else int(self.groups.max()) + 1

    def unjudged(self, ranks: Ranks) -> TrainingInfo:
        """Say what is known of the training before the model is judged."""
        return TrainingInfo(
            n=self.table.n_rows,
            n_dropped=self.n_dropped,
            n_zero_weight=self.n_zero_weight,
            weighted=not ranks.unweighted,
            figures={},
            crossvalidated={},
            missing=self.missing,
            n_groups=self.n_groups,
        )

    def info(
        self,
        ranks: Ranks,
        figures: Mapping[str, Estimate],
        crossvalidated: Mapping[str, Estimate],
        scores: ColumnProfile | None = None,
        n_judged: int | None = None,
    ) -> TrainingInfo:
        """Say all that a model remembers of its training: its figures, and these rows."""
        return replace(
            self.unjudged(ranks),
            figures=figures,
            crossvalidated=crossvalidated,
            columns=self.columns,
            data=self.fingerprint,
            scores=scores,
            n_judged=n_judged,
        )


def training_rows(
    data: Any,
    formula: str,
    *,
    weights: Any,
    subset: Any,
    na_action: str,
    context: Mapping[str, Callable[..., Any]] | None,
    takes_missing: bool,
    groups: Any = None,
) -> TrainingRows:
    """Read what every fit from a formula starts from; see `crank.fit` for the parameters.

    Parameters
    ----------
    takes_missing : bool
        Whether predictors may be missing.
    groups : str or array-like, optional
        Labels of rows that belong together. Like weights, a column named so is no predictor.
    """
    one_of("na_action", na_action, ("drop", "raise"))
    if context is not None and not isinstance(context, Mapping):
        raise OptionError(
            f"context={context!r} is not allowed. Allowed: a mapping of names to functions, such "
            "as {'f': numpy.sqrt}, or None."
        )
    table = Table.read(data)
    w = read_weights(weights, table, data)
    labels = group_labels(groups, table, data)
    hidden = {name for name in (weights, groups) if isinstance(name, str)}
    parsed = parse_formula(formula, table.names, context=context, hidden=hidden)
    table = table.with_dates(parsed.dates)
    asked = subset
    if isinstance(subset, str):
        subset = read_subset(subset, table, context=context)
    check_aligned(_mask(subset), data, "subset")
    if subset is not None:
        kept = _chosen(subset, table.n_rows)
        table = table.rows(kept)
        if not table.n_rows:
            raise DataError(
                f"subset{f' {asked!r}' if isinstance(asked, str) else ''} is true in none of the "
                f"{len(kept)} rows. Fitting needs at least two."
            )
        w = None if w is None else w[kept]
        labels = None if labels is None else labels[kept]
    gaps = _missing_predictors(parsed, table, w)
    present = np.ones(table.n_rows, dtype=bool) if w is None else w != 0.0
    idle = int((~present).sum())
    usable, dropped = _usable(parsed, table, w, labels, present, takes_missing, na_action)
    if not usable.all():
        table = table.rows(usable)
        w = None if w is None else w[usable]
        labels = None if labels is None else labels[usable]
    if table.n_rows < 2:
        others = f", {idle} of weight 0" if idle else ""
        raise DataError(
            f"{table.n_rows} row{'s' * (table.n_rows != 1)} left to fit "
            f"({dropped} dropped for missing values{others}). Ranking needs at least two."
        )
    number = None if labels is None else read_groups(labels, table.n_rows).astype(np.intp)
    if number is not None:
        check_several(number)
    return TrainingRows(parsed, table, w, number, dropped, idle, gaps)


def in_process(data: Any, sample: int | None, seed: int, function: str, client: Any = None) -> Any:
    """Return data as it is, or a sample of a Dask data frame, which these fits do not take whole.

    Parameters
    ----------
    data : data frame
    sample : int or None
        Rows of the sample.
    seed : int
    function : str
        What is called, for the message.
    client : distributed.Client, optional
        Of a Dask data frame.
    """
    only_for_dask(data, client, sample)
    if not is_dask(data):
        return data
    if sample is None:
        raise OptionError(
            f"{function} cannot be fitted on a Dask data frame as a whole: it needs all rows in "
            "one process. Fit a sample of them, sample=100_000, or a tree, crank.fit."
        )
    from crank.api.cluster import in_memory

    return in_memory(data, sample, [str(name) for name in data.columns], client, seed)


def _missing_predictors(
    parsed: ParsedFormula, table: Table, w: NDArray[np.float64] | None
) -> dict[str, int]:
    """Count the missing values of each predictor; rows of weight 0 are as if absent."""
    here = True if w is None else w != 0.0
    predictors = (name for name in parsed.variables if name not in parsed.response_variables)
    return {name: int(np.count_nonzero(table.missing(name) & here)) for name in predictors}


def _mask(subset: Any) -> Any:
    """Return a subset that goes by position, a mask; None for row numbers."""
    return subset if getattr(getattr(subset, "dtype", None), "kind", "") == "b" else None


def _chosen(subset: Any, n: int) -> NDArray[Any]:
    """Check the rows that the user asked for."""
    rows = np.asarray(subset)
    if rows.dtype == bool and rows.shape == (n,):
        return rows
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
        raise DataError(
            f"subset has dtype {rows.dtype} and shape {rows.shape}. "
            f"Allowed: {n} booleans, one a row, row numbers from 0, or a condition such "
            f"as 'age < 90'."
        )
    if rows.min() < 0 or rows.max() >= n:
        raise DataError(
            f"subset names row {int(rows.max() if rows.min() >= 0 else rows.min())}; the data "
            f"has rows 0 to {n - 1}."
        )
    return rows


def _usable(
    parsed: ParsedFormula,
    table: Table,
    w: NDArray[np.float64] | None,
    labels: NDArray[Any] | None,
    present: NDArray[np.bool_],
    takes_missing: bool,
    na_action: str,
) -> tuple[NDArray[np.bool_], int]:
    """Find the rows that can be used; count those that lack a value, weights of 0 aside."""
    if table.n_rows == 0:
        raise DataError("the data has no rows. Fitting needs at least two.")
    missing: dict[str, NDArray[np.bool_]] = {}
    columns = list(parsed.response_variables)
    if not takes_missing:
        columns += [name for name in parsed.variables if name not in columns]
    for name in columns:
        missing[f"column {name!r}"] = table.missing(name)
    if w is not None:
        missing["the weights"] = np.isnan(w)
    if labels is not None:
        missing["the groups"] = missing_labels(labels)
    n = int(present.sum())
    for what, absent in missing.items():
        mask = absent & present
        if mask.sum() == n > 0:
            of = f"all {n} rows" if n == table.n_rows else f"all {n} rows of a weight above 0"
            others = "others" if what.startswith("the ") else "another column"
            raise DataError(
                f"{what} is missing in {of}: nothing to fit. Leave it out, or give {others}."
            )
        if na_action == "raise" and mask.any():
            first = table.position(int(np.flatnonzero(mask)[0]))
            raise DataError(
                f"{what} is missing in {int(mask.sum())} of {n} rows, the first is row "
                f"{first}. Fill them, or use na_action='drop'."
            ).at(first)
    unusable = np.logical_or.reduce(list(missing.values()))
    return present & ~unusable, int((present & unusable).sum())
