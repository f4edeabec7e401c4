"""Installed split learners by name: built in or not, each enters by an entry point."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from crank import entries
from crank.entries import Entry
from crank.errors import UnknownLearnerError, did_you_mean, listed
from crank.plugins.base import SplitLearner
from crank.plugins.contract import checked

GROUP = "crank.learners"


def installed() -> dict[str, Entry]:
    """List the installed learners by name, without importing any.

    Examples
    --------
    >>> installed()["svm"].target
    'crank.plugins.svm:SupportVector'
    """
    return entries.installed(GROUP)


def find(name: str, distribution: str | None = None) -> Entry:
    """Look one name up, or ``distribution:name``.

    A file that says which distribution wrote it gets the learner of that one, if it is there.

    Examples
    --------
    >>> find("svn")
    Traceback (most recent call last):
    ...
    crank.errors.UnknownLearnerError: no split learner named 'svn'. Installed: ...
    """
    if name in _ANNOUNCED:
        return _ANNOUNCED[name]
    found = distribution and entries.look_up(GROUP, f"{distribution}:{name.rpartition(':')[2]}")
    found = found or entries.look_up(GROUP, name)
    if not found:
        names = entries.known(GROUP)
        raise UnknownLearnerError(
            f"no split learner named {name!r}. Installed: {listed(names)}."
            f"{did_you_mean(name, names)}"
        )
    return found


def load(entry: Entry) -> type[SplitLearner]:
    """Import the class of an entry, checked.

    Examples
    --------
    >>> load(find("logistic"))
    <class 'crank.plugins.logistic.Logistic'>
    """
    return checked(entry.load(), entry.label, entry.distribution)


def entry_of(learner: SplitLearner | type[SplitLearner]) -> Entry | None:
    """Find the entry under which a learner's class is installed, or None; it loads nothing."""
    kind = learner if isinstance(learner, type) else type(learner)
    for entry in (*_ANNOUNCED.values(), *entries.each(entries.known(GROUP))):
        # a plugin may announce a re-export, so compare the object
        if entry.loaded is kind:
            return entry
    return None


def name_of(learner: SplitLearner | type[SplitLearner]) -> str | None:
    """Return the name under which a learner's class is installed, or None.

    A model keeps this name, so that its rules can be read again. A class whose name is claimed by
    several distributions is called ``distribution:name``, unless it is built in.

    Examples
    --------
    >>> from crank.plugins.logistic import Logistic
    >>> name_of(Logistic())
    'logistic'
    """
    entry = entry_of(learner)
    if entry is None:
        return None
    return entry.full_name if entry.rivals and entry.distribution != entries.OWN else entry.name


@dataclass(frozen=True)
class Announced(Entry):
    """An entry that no distribution announces: a class that has a name for a while."""

    kind: type[SplitLearner] | None = None

    @property
    def loaded(self) -> Any:
        """The class."""
        return self.kind


_ANNOUNCED: dict[str, Announced] = {}


@contextmanager
def announced(kind: type[SplitLearner]) -> Iterator[str]:
    """Give a class a name for a while, so that models with it can be saved and read.

    A class that is installed keeps the name that it has.
    """
    name = name_of(kind)
    if name is not None:
        yield name
        return
    name = kind.__name__
    where = f"{kind.__module__}:{kind.__qualname__}"
    _ANNOUNCED[name] = Announced(GROUP, name, "not installed", "", where, kind=kind)
    try:
        yield name
    finally:
        del _ANNOUNCED[name]
