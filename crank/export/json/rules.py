"""Stored rules: written only if they can be read again, read only if they fit the design."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from crank.blame import blamed
from crank.entries import OWN, Entry
from crank.errors import CrankError, ModelFileError, PluginError, UnknownLearnerError, listed
from crank.growing.rule import described, foreign_decision
from crank.plugins.base import NotExportableError, SplitRule
from crank.plugins.contract import CONTRACTS
from crank.plugins.discovery import find
from crank.plugins.level_words import misplaced_levels
from crank.plugins.registry import rule_from_dict

if TYPE_CHECKING:
    from crank.design.spec import DesignSpec
    from crank.rankers.tree import LearnerInfo


def require_installed(learner: LearnerInfo) -> Entry:
    """Refuse to write a model whose rules nobody could read."""
    try:
        return find(learner.name, learner.distribution)
    except UnknownLearnerError:
        raise NotExportableError(
            f"split learner {learner.name!r} is not installed under this name, so a file could not "
            f"be read again. Publish its class as an entry point of the group 'crank.learners', or "
            f"use an installed learner (see crank.learners())."
        ) from None


def require_readable(learner: LearnerInfo) -> None:
    """Refuse a file whose learner is not here, or is another one of the same name."""
    wrote = f"{learner.distribution} {learner.version}".strip()
    try:
        entry = find(learner.name, learner.distribution)
    except UnknownLearnerError as cause:
        what = wrote or "the package that provides it"
        raise ModelFileError(f"{cause} Install {what}.") from cause
    built_in = entry.distribution == OWN
    if learner.distribution and built_in != (learner.distribution == OWN):
        raise ModelFileError(
            f"its rules were written by {learner.name!r} of {wrote}; here that name leads to "
            f"{entry.distribution} {entry.version}. Install {wrote}."
        )
    if learner.contract not in CONTRACTS:
        raise ModelFileError(
            f"{learner.name!r} of {wrote} keeps version {learner.contract} of the contract of "
            f"split learners; this crank keeps {listed(CONTRACTS)}. Install a newer crank."
        )


def stored_rule(learner: LearnerInfo, rule: SplitRule) -> dict[str, Any]:
    """Write a rule as plain data, and prove that it can be read again.

    Better to fail here than where the file is to be used.
    """
    with blamed(type(rule), "to_dict"):
        given = rule.to_dict()
    try:
        stored: dict[str, Any] = json.loads(json.dumps(given, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as cause:
        raise PluginError(
            f"split learner {learner.name!r} wrote a rule that is not plain data: {cause}. "
            f"Allowed: dict, list, str, int, finite float, bool, None. Run "
            f"crank.testing.check_learner on it."
        ) from cause
    read = rule_from_dict(learner.name, stored, distribution=learner.distribution)
    with blamed(type(rule), "to_dict"):
        again = read.to_dict()
    where = difference(stored, again)
    if where is not None:
        raise PluginError(
            f"split learner {learner.name!r} does not read back what it wrote: {where} differs. "
            f"Run crank.testing.check_learner on it."
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
        self.level_names = design.level_names
        self.entry = find(learner.name, learner.distribution)
        if any(self.levels) and not learner.takes_categories:
            raise ModelFileError(
                "learner.takes_categories is False, but its design has columns of category codes."
            )

    def read(self, stored: dict[str, Any], where: str) -> SplitRule:
        """Rebuild a rule, or raise `ModelFileError`."""
        try:
            rule = self._rebuilt(stored)
            with blamed(type(rule), "to_dict"):
                again = rule.to_dict()
            found = difference(stored, again)
            if found is not None and self.other_version:
                # a later version may keep a rule in another form, if it can read that one
                found = difference(again, self._rebuilt(again).to_dict())
            if found is not None:
                raise ModelFileError(f"{found} has a value or a type that is not allowed.")
            self._fits(rule)
        except CrankError as cause:
            raise ModelFileError(f"{where}: {cause}{self._versions}") from cause
        return rule

    def _rebuilt(self, stored: dict[str, Any]) -> SplitRule:
        return rule_from_dict(self.learner.name, stored, distribution=self.learner.distribution)

    @property
    def other_version(self) -> bool:
        """Whether a plugin of another version wrote the file; crank's own rules never migrate."""
        wrote = self.learner.version
        return self.entry.distribution != OWN and bool(wrote) and wrote != self.entry.version

    @property
    def _versions(self) -> str:
        wrote, here = self.learner, self.entry
        if not self.other_version and wrote.distribution in ("", here.distribution):
            return ""
        return (
            f" The file was written by {wrote.distribution} {wrote.version}; installed is "
            f"{here.distribution} {here.version}."
        )

    def _fits(self, rule: SplitRule) -> None:
        """Refuse rules that would fail, or read beyond the design, when they are used."""
        own = type(rule).__module__.startswith("crank.plugins.")
        if own:
            self._check_columns(rule)
        try:
            credit = rule.credit()
            self._in_range(list(credit), "credit")
            shares = np.array(list(credit.values()), dtype=np.float64)
            levels = self.level_names if self.learner.takes_categories else None
            for left in (True, False):
                described(rule, self.names, levels, left=left)
            right = bool(np.isfinite(shares).all())
            if not own:
                with np.errstate(all="ignore"):
                    value = foreign_decision(rule, np.zeros((2, len(self.names))))
                right = right and bool(np.isfinite(value).all())
        except CrankError:
            raise
        except (Exception, SystemExit) as cause:  # a plugin's code on data that may be anything
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
            sizes = [len(names or ()) for names in self.levels]
            problem = misplaced_levels(rule.nodes, sizes, codes_compared=True)
            if problem is not None:
                raise ModelFileError(f"of its rule's trees, {problem}")
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
