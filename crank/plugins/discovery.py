"""Find installed split learners: names come from metadata, code is loaded for the one asked for.

Every learner, built in or not, enters by an entry point. So a broken or slow plugin harms nobody
who does not ask for it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from crank.errors import PluginError, UnknownLearnerError, did_you_mean, listed
from crank.plugins.base import SplitLearner

GROUP = "crank.learners"


@dataclass(frozen=True)
class LearnerEntry:
    """A learner as its distribution announces it; nothing of it is imported yet.

    Attributes
    ----------
    name : str
    distribution, version : str
    target : str
        Where the class is, as ``package.module:Class``.
    rivals : tuple of LearnerEntry
        Entries of other distributions under the same name.
    """

    name: str
    distribution: str
    version: str
    target: str
    rivals: tuple[LearnerEntry, ...] = ()

    def load(self) -> type[SplitLearner]:
        """Import the class.

        Examples
        --------
        >>> installed()["logistic"].load()
        <class 'crank.plugins.logistic.Logistic'>
        """
        if self.rivals:
            owners = [entry.distribution for entry in (self, *self.rivals)]
            raise PluginError(
                f"split learner {self.name!r} is offered by {' and '.join(owners)}. "
                f"Allowed: one distribution a name. Uninstall all but one, or pass the class "
                f"itself as learner."
            )
        try:
            found = _loaded(self.target) or EntryPoint(self.name, self.target, GROUP).load()
        except (Exception, SystemExit) as cause:
            raise PluginError(
                f"split learner {self.name!r} of {self.distribution} {self.version} cannot be "
                f"loaded from {self.target}: {type(cause).__name__}: {cause}. "
                f"Reinstall or uninstall {self.distribution}; other learners are not affected."
            ) from cause
        return checked(found, f"{self.name!r} of {self.distribution} {self.version}")


def _loaded(target: str) -> Any:
    """Return the class if it has been imported before: an entry point takes its time."""
    module, _, attribute = target.partition(":")
    return getattr(sys.modules.get(module), attribute, None)


def installed() -> dict[str, LearnerEntry]:
    """List the installed learners by name, without importing any.

    Examples
    --------
    >>> installed()["svm"].target
    'crank.plugins.svm:SupportVector'
    """
    scan.cache_clear()
    return dict(scan(tuple(sys.path)))


@lru_cache(maxsize=1)
def scan(path: tuple[str, ...]) -> Mapping[str, LearnerEntry]:
    """Read the metadata once for each state of ``sys.path``: it takes longer than a small fit."""
    found: dict[str, dict[str, LearnerEntry]] = {}
    for point in entry_points(group=GROUP):
        dist = point.dist
        distribution, version = (dist.name, dist.version) if dist else ("unknown", "")
        own = found.setdefault(point.name, {})
        # a distribution seen twice on sys.path: the first is the one that imports find
        own.setdefault(
            _normal(distribution), LearnerEntry(point.name, distribution, version, point.value)
        )
    entries = {}
    for name in sorted(found):
        first, *others = sorted(found[name].values(), key=lambda entry: entry.distribution)
        entries[name] = replace(first, rivals=tuple(others))
    return entries


def _normal(distribution: str) -> str:
    return distribution.lower().replace("_", "-").replace(".", "-")


def find(name: str) -> LearnerEntry:
    """Look one name up.

    Examples
    --------
    >>> find("svn")
    Traceback (most recent call last):
    ...
    crank.errors.UnknownLearnerError: no split learner named 'svn'. Installed: ...
    """
    entries: Mapping[str, LearnerEntry] = scan(tuple(sys.path))
    if name not in entries:
        entries = installed()  # it may have been installed a moment ago
    if name not in entries:
        raise UnknownLearnerError(
            f"no split learner named {name!r}. Installed: {listed(entries)}."
            f"{did_you_mean(name, entries)}"
        )
    return entries[name]


def checked(found: Any, label: str) -> type[SplitLearner]:
    """Return a class if it is a learner's, or say what it is instead."""
    if not (isinstance(found, type) and issubclass(found, SplitLearner)):
        got = f"the class {found.__name__}" if isinstance(found, type) else repr(found)
        raise PluginError(
            f"split learner {label} is {got}. Allowed: a class derived from "
            f"crank.plugins.base.SplitLearner."
        )
    return found
