"""What is kept of the training data: counts and figures, not rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from crank.frames.profile import ColumnProfile
from crank.rankers.validation import Estimate
from crank.records.moment import now, versions


@dataclass(frozen=True)
class TrainingInfo:
    """What a model remembers of its training.

    Attributes
    ----------
    n, n_dropped : int
        Rows used, and rows left out because of missing values.
    n_zero_weight : int
        Rows left out because their weight is 0, whatever they lack.
    weighted : bool
    figures, crossvalidated : dict of Estimate
        By name of the figure. The first are optimistic: the ranker has seen these rows.
    n_judged : int or None
        Rows that were dealt out to folds, if only a part of many was; None if all were.
    missing : mapping of str to int, optional
        Missing values of each predictor, in the rows used and dropped together; None if an older
        file does not say.
    n_groups : int or None
        Groups of rows that folds kept whole and errors are clustered by; None if rows are
        independent.
    columns : mapping of str to ColumnProfile, optional
        How the values of each predictor were spread over the rows used; None if an older file
        does not say.
    scores : ColumnProfile, optional
        The same of the model's own scores, for kinds that do not know it otherwise.
    data : str, optional
        Fingerprint of the rows used; see `crank.frames.fingerprint`.
    created : str, optional
        When the model was fitted, in UTC; None if an older file does not say.
    versions : mapping of str, optional
        Of Python and the packages that fitted it; None if an older file does not say.
    """

    n: int
    n_dropped: int
    weighted: bool
    figures: Mapping[str, Estimate]
    crossvalidated: Mapping[str, Estimate]
    missing: Mapping[str, int] | None = None
    n_groups: int | None = None
    n_judged: int | None = None
    n_zero_weight: int = 0
    columns: Mapping[str, ColumnProfile] | None = None
    scores: ColumnProfile | None = None
    data: str | None = None
    created: str | None = field(default_factory=now)
    versions: Mapping[str, str] | None = field(default_factory=versions)

    @property
    def left_out(self) -> str:
        """How many rows were left out, and why; empty if none were."""
        reasons = []
        if self.n_dropped:
            reasons.append(f"{self.n_dropped} dropped (missing values)")
        if self.n_zero_weight:
            reasons.append(f"{self.n_zero_weight} left out (weight 0)")
        return ", ".join(reasons)
