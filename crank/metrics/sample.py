"""Read y, scores and case weights once: checked, ranked, weights as whole units if they can be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from crank.errors import DataError
from crank.frames.alignment import check_aligned
from crank.kernels.order import (
    FloatArray,
    IntArray,
    JointOrder,
    dense_ranks,
    group_sums,
    joint_order,
)
from crank.metrics.direct import DirectSums, after, before, direct_sums

# sums of weights stay exact in float64 and int64, sums of products near enough to be corrected
LARGEST_TOTAL = 2.0**50
# rows next to nothing beside the rest: with whole weights they would keep less than ten digits
NEGLIGIBLE_SHARE = 2.0**-14
# the product of three weights is still a normal number
SMALLEST_WEIGHT = 2.0**-340
# weights raised to the smallest are nine digits below
TOLD_APART = 2.0**-310


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows with positive weight, as every metric sees them: ranks and weights only.

    Attributes
    ----------
    y_rank, score_rank : ndarray of int64, shape (n,)
        Dense ranks, 0 for the smallest.
    weight : ndarray of float64, shape (n,)
        Whole numbers, proportional to the case weights; they add up to 2⁵¹ at most. If `wide`,
        fractions of the largest one.
    y_values : ndarray of shape (distinct,)
        The distinct values of y, increasing.
    kept : ndarray of int64, shape (n,)
        Where the rows stood in the input.
    n_given : int
        Rows in the input, those of weight 0 included.
    wide : bool
        Whether weights lie so far apart that sums must do without differences.
    copies : ndarray of float64, shape (n,), optional
        Rows of equal weight that each row stands for; ``weight`` is that of all of them then.
    """

    y_rank: IntArray
    score_rank: IntArray
    weight: FloatArray
    y_values: NDArray[Any]
    kept: IntArray
    n_given: int
    wide: bool = False
    copies: FloatArray | None = None

    @property
    def n(self) -> int:
        """Rows with positive weight."""
        return len(self.weight)

    @cached_property
    def order(self) -> JointOrder:
        """Both rankings, sorted."""
        return joint_order(self.y_rank, self.score_rank)

    @cached_property
    def mass(self) -> FloatArray:
        """Weight at each distinct y."""
        return group_sums(self.y_rank, self.weight, len(self.y_values))

    @cached_property
    def below(self) -> FloatArray:
        """Weight strictly below each distinct y (L in theory §3)."""
        return before(self.mass)

    @cached_property
    def above(self) -> FloatArray:
        """Weight strictly above each distinct y."""
        return after(self.mass)

    @cached_property
    def direct(self) -> DirectSums:
        """Sums over concordant pairs without differences."""
        nothing = np.zeros(len(self.mass))
        return direct_sums(self.y_rank, self.score_rank, self.weight, nothing, nothing)

    @cached_property
    def won_below(self) -> FloatArray:
        """Concordant weight that each row sees below it in y; a tie in s counts half."""
        if self.wide:
            return self.direct.below
        won: FloatArray = self.order.below(self.weight[np.newaxis])[0] / 2.0
        return won

    @cached_property
    def won_above(self) -> FloatArray:
        """Concordant weight that each row sees above it in y."""
        if self.wide:
            return self.direct.above
        weight, below = self.weight[np.newaxis], 2.0 * self.won_below[np.newaxis]
        won: FloatArray = self.concordant_above(weight, below, self.above[self.y_rank])[0]
        return won

    def concordant_above(
        self, values: FloatArray, below: FloatArray, total: FloatArray
    ) -> FloatArray:
        """Sum values over the rows that are concordant with a row from above.

        Rows above it in y are all rows but those below and those tied in y.

        Parameters
        ----------
        values, below : ndarray of shape (k, n)
            What is summed, and its `JointOrder.below`.
        total : ndarray of shape (n,) or (k, n)
            Sum of the values over all rows of larger y.
        """
        lost_above = self.order.anywhere(values) - below - self.order.within(values)
        return total - lost_above / 2.0


def read_sample(
    y: ArrayLike,
    s: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    distinct: int,
    purpose: str,
    score_name: str = "s",
) -> Sample:
    """Check and rank the arguments of a metric.

    Parameters
    ----------
    y, s : array-like of shape (n,)
        Responses and scores: numbers, finite.
    weights : array-like of shape (n,), optional
        Case weights, not negative; a row of weight 0 is as if absent.
    distinct : int
        How many distinct values of y the metric needs.
    purpose : str
        Name of the metric, for messages.
    score_name : str
        Name of the argument `s`, for messages.

    Examples
    --------
    >>> sample = read_sample([3, 1, 3], [0.1, 0.2, 0.3], distinct=2, purpose="kendall")
    >>> sample.y_rank.tolist(), sample.n
    ([1, 0, 1], 3)
    """
    response, score = finite_column(y, "y"), finite_column(s, score_name)
    if len(response) != len(score):
        raise DataError(
            f"y and {score_name} must have the same length. "
            f"Got {len(response)} and {len(score)} values. Pass one score for each response."
        )
    if len(response) == 0:
        raise DataError(f"y is empty; {purpose} needs at least {distinct} rows. Pass some data.")
    check_aligned(weights, y, "weights", "y")
    n_given = len(response)
    given = None if weights is None else checked_weights(weights, n_given)
    weight = np.ones(n_given) if given is None else whole_weights(given, n_given)
    kept = np.flatnonzero(weight)
    if len(kept) < n_given:
        response, score, weight = response[kept], score[kept], weight[kept]
    y_rank, first = dense_ranks(response)
    if len(first) < distinct:
        raise DataError(
            f"y has too few distinct values for {purpose}: got {len(first)} in {len(kept)} rows "
            f"of positive weight, at least {distinct} needed. " + _way_out(len(first), distinct)
        )
    wide = given is not None and _drowned(group_sums(y_rank, given[kept], len(first)), len(kept))
    if wide:
        assert given is not None
        weight = wide_weights(given[kept])
        _check_told_apart(group_sums(y_rank, weight, len(first)), distinct)
    return Sample(
        y_rank=y_rank,
        score_rank=dense_ranks(score)[0],
        weight=weight,
        y_values=response[first],
        kept=kept,
        n_given=n_given,
        wide=wide,
    )


def _drowned(mass: FloatArray, n: int) -> bool:
    """Tell whether one value of y, or the two extreme ones, hold nearly all the weight.

    Also if an extreme one holds next to nothing, on which the AUC at the next value rests.
    """
    share = mass / mass.max()
    total = float(share.sum())
    rest = [share[0], share[-1], total - share.max(), total - share[0] - share[-1]]
    needed = rest if len(mass) > 2 else rest[:3]
    return bool(min(needed) * n < NEGLIGIBLE_SHARE * total)


def _check_told_apart(mass: FloatArray, distinct: int) -> None:
    """Raise if all of the pairs or triples rest on weights that were raised to the smallest."""
    heaviest = np.partition(mass, -distinct)[-distinct]
    if heaviest < TOLD_APART:
        raise DataError(
            f"weights lie too far apart: all but {distinct - 1} of the values of y have less than "
            f"{TOLD_APART:.0e} of the largest weight. "
            "Give rows that should not count the weight 0, and bring the others closer together."
        )


def _way_out(found: int, needed: int) -> str:
    if found == 2 < needed:
        return "Two values have no threshold between them: use kendall, the AUC of a binary y."
    return "Check that y is the response, and that it varies in these rows."


def finite_column(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return a one-dimensional array of finite real numbers, in its own precision.

    Integers are not turned to floats: two that differ beyond 2⁵³ must not tie.
    """
    array = _numbers(values, name)
    if array.ndim != 1:
        remedy = "Pass one column." if array.ndim > 1 else "Pass a list, an array or a column."
        raise DataError(f"{name} must have one dimension. Got shape {array.shape}. {remedy}")
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(array))
        if len(bad):
            raise DataError(
                f"{name} must be finite. Got {len(bad)} missing or infinite of {len(array)}, "
                f"the first at position {bad[0]}: {array[bad[0]]}. Drop or replace these rows."
            )
    return array


def _numbers(values: ArrayLike, name: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise DataError(f"{name} must be finite. Got a masked array. Drop the masked rows.")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":  # nullable columns, Python's own numbers
            if any(isinstance(value, str | bytes) for value in array.flat):
                raise TypeError("it holds text")
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} must hold numbers. Got a {type(values).__name__} that cannot be read as "
            f"numbers ({error}). Pass a numeric column without missing values."
        ) from None
    if array.dtype.kind not in "buif":
        raise DataError(
            f"{name} must hold numbers. Got dtype {array.dtype}. "
            "Convert it first: dates with .astype('int64'), ordered categories with their codes."
        )
    return array


def whole_weights(weights: ArrayLike | None, n: int) -> FloatArray:
    """Turn case weights into whole numbers in the same proportions.

    Whole weights, and weights that are whole multiples of the smallest one, keep their exact
    proportions. Others are rounded to 2⁻⁵⁰ of their sum, about the precision of a running sum
    of floats; in return every sum of weights is exact, whatever its order, and an α of the
    ROC curve that ought to meet a vertex does meet it.

    Examples
    --------
    >>> whole_weights([0.1, 0.0, 0.1], 3).tolist()
    [1.0, 0.0, 1.0]
    """
    if weights is None:
        return np.ones(n)
    given = checked_weights(weights, n)
    positive = given > 0
    with np.errstate(over="ignore"):
        for multiple in (given / given[positive].min(), given):
            if multiple.sum() <= LARGEST_TOTAL and np.array_equal(multiple, np.rint(multiple)):
                return multiple
    # powers of two keep weights such as 0.25 exact; a positive weight never falls to 0
    scaled = np.ldexp(given, -int(np.frexp(given.max())[1]))
    scaled = np.ldexp(scaled, int(np.log2(LARGEST_TOTAL / scaled.sum())))
    return np.where(positive, np.maximum(np.rint(scaled), 1.0), 0.0)


def wide_weights(weights: FloatArray) -> FloatArray:
    """Scale positive weights by a power of two so that the largest lies in [½, 1).

    Examples
    --------
    >>> wide_weights(np.array([1.0, 1e-16])).tolist()
    [0.5, 5e-17]
    """
    # in two steps: the power itself may be out of range
    exponent = -int(np.frexp(weights.max())[1])
    scaled = np.ldexp(np.ldexp(weights, exponent // 2), exponent - exponent // 2)
    return np.maximum(scaled, SMALLEST_WEIGHT)


def checked_weights(weights: ArrayLike, n: int) -> FloatArray:
    """Return case weights as floats, or raise."""
    given = finite_column(weights, "weights").astype(np.float64)
    if len(given) != n:
        raise DataError(
            f"weights must have one value for each row. Got {len(given)} for {n} rows. "
            "Pass a column of the same data."
        )
    negative = np.flatnonzero(given < 0)
    if len(negative):
        raise DataError(
            f"weights must not be negative. Got {len(negative)} negative values, the first at "
            f"position {negative[0]}: {given[negative[0]]}. Use 0 to leave a row out."
        )
    if not given.any():
        raise DataError(f"weights are all zero. Got {n} rows. Give at least two rows some weight.")
    return given
