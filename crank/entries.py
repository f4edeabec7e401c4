"""What installed distributions announce to crank by entry points: found in metadata, loaded late.

Names come from metadata and nothing is imported until it is asked for, so a broken or slow plugin
harms nobody who does not use it. Built-ins enter by the same door, and their names are safe.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from crank.errors import PluginError, PluginWarning

OWN = "crank-rank"
"""The distribution whose names nobody else can take."""


@dataclass(frozen=True)
class Entry:
    """A plugin as its distribution announces it; nothing of it is imported yet.

    Attributes
    ----------
    group, name : str
        Under which it is announced.
    distribution, version : str
    target : str
        Where the object is, as ``package.module:Name``.
    rivals : tuple of Entry
        Entries of other distributions under the same name.
    """

    group: str
    name: str
    distribution: str
    version: str
    target: str
    rivals: tuple[Entry, ...] = ()

    @property
    def full_name(self) -> str:
        """The name that reaches this entry and no rival: ``distribution:name``."""
        return f"{self.distribution}:{self.name}"

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"{self.name!r} of {self.distribution} {self.version}".rstrip()

    def load(self) -> Any:
        """Import what is announced, or raise `PluginError`; a built-in wins over its rivals."""
        if self.rivals:
            self._judge_rivals()
        try:
            found = self.loaded
            return EntryPoint(self.name, self.target, self.group).load() if found is None else found
        except (Exception, SystemExit) as cause:
            raise PluginError(
                f"{_word(self.group)} {self.label} cannot be loaded from {self.target}: "
                f"{type(cause).__name__}: {cause}. "
                f"Reinstall or uninstall {self.distribution}; other plugins are not affected."
            ) from cause

    @property
    def loaded(self) -> Any:
        """The object if it has been imported before, else None: an entry point takes its time."""
        module, _, attribute = self.target.partition(":")
        return getattr(sys.modules.get(module), attribute.strip(), None)

    def _judge_rivals(self) -> None:
        owners = " and ".join(entry.distribution for entry in (self, *self.rivals))
        ways = " or ".join(repr(entry.full_name) for entry in (self, *self.rivals))
        if self.distribution != OWN:
            raise PluginError(
                f"{_word(self.group)} {self.name!r} is offered by {owners}. Allowed: one "
                f"distribution a name. Write {ways}, or uninstall all but one."
            )
        self.warn_of_rivals()

    def warn_of_rivals(self) -> None:
        """Say, once a process, who else claims the name of a built-in."""
        for rival in self.rivals:
            warn_of_rival(self.group, self.name, rival.full_name)


@lru_cache(maxsize=256)
def warn_of_rival(group: str, name: str, rival: str) -> None:
    """Say once that a distribution claims the name of a built-in, in vain."""
    warnings.warn(
        f"{rival.partition(':')[0]} offers a {_word(group)} {name!r} too. The built-in one is "
        f"used; write {rival!r} for the other.",
        PluginWarning,
        stacklevel=4,
    )


def _word(group: str) -> str:
    return {"crank.learners": "split learner", "crank.criteria": "criterion"}.get(group, group)


def installed(group: str) -> dict[str, Entry]:
    """List the entries of a group by name, without importing any; the metadata are read anew.

    Examples
    --------
    >>> installed("crank.learners")["svm"].target
    'crank.plugins.svm:SupportVector'
    """
    _scan.cache_clear()
    _points.cache_clear()
    return dict(known(group))


def known(group: str) -> Mapping[str, Entry]:
    """List the entries of a group by name, as they were when ``sys.path`` last changed.

    Reading the metadata takes longer than a small fit.
    """
    return _scan(group, tuple(sys.path))


@lru_cache(maxsize=8)
def _points(path: tuple[str, ...]) -> Any:
    """Read what is announced to anybody, once: that is what takes the time."""
    return entry_points()


@lru_cache(maxsize=8)
def _scan(group: str, path: tuple[str, ...]) -> Mapping[str, Entry]:
    found: dict[str, dict[str, Entry]] = {}
    for point in _points(path).select(group=group):
        dist = point.dist
        distribution, version = (dist.name, dist.version) if dist else ("unknown", "")
        if point.value.startswith("crank."):
            distribution = OWN  # crank-scorer is the same code under another name
        own = found.setdefault(point.name, {})
        # a distribution seen twice on sys.path: the first is the one that imports find
        entry = Entry(group, point.name, distribution, version, point.value)
        own.setdefault(normal(distribution), entry)
    entries = {}
    for name in sorted(found):
        ordered = sorted(found[name].values(), key=lambda e: (e.distribution != OWN, e.full_name))
        entries[name] = replace(ordered[0], rivals=tuple(ordered[1:]))
    return entries


def normal(distribution: str) -> str:
    """Spell the name of a distribution as indexes do."""
    return distribution.lower().replace("_", "-").replace(".", "-")


def look_up(group: str, name: str) -> Entry | None:
    """Find an entry by its name or by ``distribution:name``; None if there is none.

    Examples
    --------
    >>> look_up("crank.learners", "crank-rank:svm").name
    'svm'
    """
    # what is not there may have been installed a moment ago
    return _among(known(group), name) or _among(installed(group), name)


def _among(entries: Mapping[str, Entry], name: str) -> Entry | None:
    if name in entries:
        return entries[name]
    distribution, _, short = name.partition(":")
    if short not in entries:
        return None
    owners = (entries[short], *entries[short].rivals)
    mine = (e for e in owners if normal(e.distribution) == normal(distribution))
    return next((replace(entry, rivals=()) for entry in mine), None)


def each(entries: Mapping[str, Entry]) -> Iterator[Entry]:
    """Visit all entries, also those that share a name."""
    for entry in entries.values():
        yield entry
        for rival in entry.rivals:
            others = tuple(other for other in (entry, *entry.rivals) if other is not rival)
            yield replace(rival, rivals=others)


def owner(kind: type, group: str = "crank.learners") -> Entry | None:
    """Find the entry to which a class belongs: its own, or one of the same package.

    Examples
    --------
    >>> from crank.errors import DataError
    >>> owner(DataError).distribution
    'crank-rank'
    """
    package = kind.__module__.partition(".")[0]
    near = None
    for entry in each(known(group)):
        if entry.loaded is kind:
            return entry
        if near is None and entry.target.partition(":")[0].partition(".")[0] == package:
            near = entry
    return near
