"""The errors that users meet: each says what is wrong, what was given and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

__all__ = [
    "ClusterError",
    "CrankError",
    "DataError",
    "FormulaError",
    "MissingExtraError",
    "ModelFileError",
    "NotExportableError",
    "OptionError",
    "PluginError",
    "PluginWarning",
    "UnknownLearnerError",
]


class CrankError(Exception):
    """Base of every error that crank raises on purpose.

    Examples
    --------
    >>> import crank
    >>> try:
    ...     crank.fit({"x": [1.0, 2.0], "y": [1.0, 2.0]}, "y ~ z")
    ... except CrankError as error:
    ...     print(type(error).__name__)
    DataError
    """


class DataError(CrankError, ValueError):
    """The data cannot be used as given.

    Attributes
    ----------
    row : int or None
        The first row at fault, counted from 0, where the error is of rows.
    absent : str or None
        The column that the data lack, where the error is of one.
    columns : tuple of str
        Those that they have.
    """

    row: int | None = None
    absent: str | None = None
    columns: tuple[str, ...] = ()

    def at(self, row: int) -> DataError:
        """Say which row is the first at fault."""
        self.row = row
        return self


class FormulaError(CrankError, ValueError):
    """The formula cannot be read or compiled."""


class OptionError(CrankError, ValueError):
    """An option has a value that is not allowed."""


class UnknownLearnerError(CrankError, ValueError):
    """No installed split learner has this name."""


class PluginError(CrankError, RuntimeError):
    """An installed plugin cannot be loaded or breaks the contract of split learners."""


class PluginWarning(UserWarning):
    """Something about installed plugins that a user should know, once."""


class ModelFileError(CrankError, ValueError):
    """A file is not a model that this crank can read."""


class NotExportableError(CrankError, TypeError):
    """A rule cannot be written in the format that was asked for."""


class ClusterError(CrankError, RuntimeError):
    """The cluster that holds the data is gone, or gave up."""


class MissingExtraError(CrankError, ImportError):
    """An optional package is needed and not installed."""


def listed(values: Iterable[object], most: int = 12) -> str:
    """Join names for a message, cut after ``most`` of them."""
    names = [str(value) for value in values]
    if not names:
        return "none"
    if len(names) > most:
        names = [*names[:most], f"… ({len(names) - most} more)"]
    return ", ".join(names)


def absent_column(what: str, name: str, names: Collection[str]) -> DataError:
    """Build the error for a column that the data lack.

    Examples
    --------
    >>> raise absent_column("weights column 'w'", "w", ["x", "wt"])
    Traceback (most recent call last):
        ...
    crank.errors.DataError: weights column 'w' is not in the data. Columns: x, wt. \
Did you mean 'wt'?
    """
    error = DataError(f"{what} is not in the data. {columns_there(name, names)}")
    error.absent, error.columns = name, tuple(names)
    return error


def columns_there(name: str, names: Collection[str]) -> str:
    """End a message on a column that the data lack with those that they have."""
    return f"Columns: {listed(names)}.{did_you_mean(name, names)}"


def did_you_mean(given: object, allowed: Iterable[object]) -> str:
    """End a message with the nearest allowed name, or with nothing."""
    near = difflib.get_close_matches(str(given), [str(value) for value in allowed], n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def require(package: str, extra: str) -> None:
    """Raise unless an optional package is installed; the message names the extra that brings it."""
    from importlib.util import find_spec

    if find_spec(package) is None:
        light = extra in OF_SCORING and find_spec("pandas") is None
        name = "crank-scorer" if light else "crank-rank"  # one replaces the other
        raise MissingExtraError(
            f"{package} is not installed. Install it with: pip install '{name}[{extra}]'"
        )


OF_SCORING = ("arrow", "serve")
"""Extras that crank-scorer has as well."""
HEAVY = ("joblib", "numba", "pandas", "scipy", "sklearn")
"""Dependencies of crank-rank that crank-scorer, the distribution for scoring, does without."""


def not_for_scoring(absent: ModuleNotFoundError) -> MissingExtraError | None:
    """Explain a package that only scoring can do without; None if it is another one."""
    if (absent.name or "").partition(".")[0] not in HEAVY:
        return None
    return MissingExtraError(
        f"{absent.name} is not installed: crank-scorer brings what scoring needs and no more. For "
        "the whole of crank: pip uninstall crank-scorer, then pip install crank-rank"
    )
