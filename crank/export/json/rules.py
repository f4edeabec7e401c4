"""Stored rules: written only if they can be read again, read only if they fit the design."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from crank.errors import CrankError, ModelFileError, PluginError, UnknownLearnerError
from crank.plugins.base import NotExportableError, SplitRule
from crank.plugins.discovery import find
from crank.plugins.registry import rule_from_dict

if TYPE_CHECKING:
    from crank.design.spec import DesignSpec
    from crank.rankers.tree import LearnerInfo


def require_installed(learner: str) -> None:
    """Refuse to write a model whose rules nobody could read."""
    try:
        find(learner)
    except UnknownLearnerError:
        raise NotExportableError(
            f"split learner {learner!r} is not installed under this name, so a file could not be "
            f"read again. Publish its class as an entry point of the group 'crank.learners', or "
            f"use an installed learner (see crank.learners())."
        ) from None


def stored_rule(learner: str, rule: SplitRule) -> dict[str, Any]:
    """Write a rule as plain data, and prove that it can be read again.

    Better to fail here than where the file is to be used.
    """
    try:
        stored: dict[str, Any] = json.loads(json.dumps(rule.to_dict(), allow_nan=False))
    except (TypeError, ValueError) as cause:
        raise PluginError(
            f"split learner {learner!r} wrote a rule that is not plain data: {cause}. "
            f"Allowed: dict, list, str, int, finite float, bool, None. Run "
            f"crank.testing.check_learner on it."
        ) from cause
    again = rule_from_dict(learner, stored).to_dict()
    where = difference(stored, again)
    if where is not None:
        raise PluginError(
            f"split learner {learner!r} does not read back what it wrote: {where} differs. Run "
            f"crank.testing.check_learner on it."
        )
    return stored


def difference(stored: Any, again: Any, where: str = "rule") -> str | None:
    """Find the first stored value that reading did not take as it stands.

    A later version may write fields that an old file lacks, so more keys are no difference.

    Examples
    --------
    >>> difference({"above": 1}, {"above": True})
    'rule.above'
    >>> difference({"column": 2}, {"column": 2, "credit": 1.0}) is None
    True
    """
    if isinstance(stored, Mapping) and isinstance(again, Mapping):
        for key, value in stored.items():
            inner = f"{where}.{key}"
            found = difference(value, again[key], inner) if key in again else inner
            if found is not None:
                return found
        return None
    if isinstance(stored, list) and isinstance(again, list | tuple):
        if len(stored) != len(again):
            return where
        if stored == again and set(map(type, stored)) <= {int, float, str}:
            same = bool not in set(map(type, again))
            return None if same else where
        pairs = enumerate(zip(stored, again, strict=True))
        found_all = (difference(a, b, f"{where}[{k}]") for k, (a, b) in pairs)
        return next((found for found in found_all if found is not None), None)
    alike = isinstance(stored, bool) == isinstance(again, bool) and stored == again
    return None if alike else where


class RuleReader:
    """Read the rules of one model, each checked against the model's design."""

    def __init__(self, learner: LearnerInfo, design: DesignSpec) -> None:
        self.learner = learner
        self.names, self.levels = design.names, design.levels
        if any(self.levels) and not learner.takes_categories:
            raise ModelFileError(
                "learner.takes_categories is False, but its design has columns of category codes."
            )

    def read(self, stored: dict[str, Any], where: str) -> SplitRule:
        """Rebuild a rule, or raise `ModelFileError`."""
        try:
            rule = rule_from_dict(self.learner.name, stored)
            found = difference(stored, rule.to_dict())
            if found is not None:
                raise ModelFileError(f"{found} has a value or a type that is not allowed.")
            self._fits(rule)
        except CrankError as cause:
            raise ModelFileError(f"{where}: {cause}") from cause
        return rule

    def _fits(self, rule: SplitRule) -> None:
        """Refuse rules that would fail, or read beyond the design, when they are used."""
        own = type(rule).__module__.startswith("crank.plugins.")
        if own:
            self._check_columns(rule)
        try:
            credit = rule.credit()
            self._in_range(list(credit), "credit")
            shares = np.array(list(credit.values()), dtype=np.float64)
            extra = {"levels": self.levels} if self.learner.takes_categories else {}
            texts = [rule.describe(self.names, **extra), rule.describe_right(self.names, **extra)]
            right = np.isfinite(shares).all() and all(isinstance(text, str) for text in texts)
            if not own:
                with np.errstate(all="ignore"):
                    value = rule.decision(np.zeros((2, len(self.names))))
                right = right and np.shape(value) == (2,) and bool(np.isfinite(value).all())
        except ModelFileError:
            raise
        except Exception as cause:  # a plugin's code on data that may be anything
            raise ModelFileError(
                f"its rule cannot be used: {type(cause).__name__}: {cause}."
            ) from cause
        if not right:
            raise ModelFileError("its rule does not decide as the contract of rules says.")

    def _check_columns(self, rule: SplitRule) -> None:
        """Check what crank's own rules point at; compiled code would not notice."""
        for name in ("column", "columns"):
            if hasattr(rule, name):
                self._in_range(np.atleast_1d(getattr(rule, name)).tolist(), name)
        if hasattr(rule, "nodes"):  # of trees, whose form has been checked
            self._in_range(rule.nodes.column.tolist(), "feature")
        codes = getattr(rule, "levels", None)
        if codes is not None:
            known = self.levels[rule.column]  # type: ignore[attr-defined]  # a stump has both
            named = [code for side in codes for code in side]
            if known is None or not all(type(code) is int for code in named):
                raise ModelFileError("levels of its rule are not codes of a category.")
            if len(set(named)) < len(named) or not all(0 <= c < len(known) for c in named):
                raise ModelFileError(
                    f"levels of its rule are not codes from 0 to {len(known) - 1}."
                )

    def _in_range(self, columns: list[Any], name: str) -> None:
        wrong = [j for j in columns if type(j) is not int or not 0 <= j < len(self.names)]
        if wrong:
            raise ModelFileError(
                f"{name} of its rule points at design column {wrong[0]!r}. "
                f"Allowed: 0 to {len(self.names) - 1}."
            )
