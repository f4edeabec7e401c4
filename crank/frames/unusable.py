"""What is said of columns that no formula can use, each with a way out."""

from __future__ import annotations

from crank.errors import DataError

USABLE = "Usable are numbers, booleans, dates, text and categories."
_OTHERWISE = "Or leave it out of the formula."
_WAYS = {  # by words of the type's name
    ("list", "tuple", "set", "dict", "array", "series", "struct", "[("): (
        "Give one value for each row: take what you need of it as columns of their own."
    ),
    ("timedelta", "duration"): (
        "Convert it to a number, for example to days: data[{name!r}] / pd.Timedelta('1D')."
    ),
    ("complex",): "Use its real part, its imaginary part or its absolute value as columns.",
    ("bytes", "binary", "|s"): "Decode it to text, for example with .str.decode('utf-8').",
    ("period",): "Convert it to dates, for example with .dt.to_timestamp().",
    ("fraction",): "Convert it to numbers with .astype(float).",
    ("time",): "Convert it to a number, such as hours since midnight.",
}


def usable_way(held: str, name: str = "z") -> str:
    """Say how to make a usable column of one that holds this type, by its name.

    Examples
    --------
    >>> usable_way("timedelta64[ns]", "wait")
    "Convert it to a number, for example to days: data['wait'] / pd.Timedelta('1D')."
    """
    kind = held.lower()
    for words, way in _WAYS.items():
        if any(word in kind for word in words):
            return way.format(name=name)
    return "Convert it, for example to text with .astype(str)."


def unusable_dtype(name: str, dtype: str) -> DataError:
    """Build the error for a column whose data frame says what nothing can be made of."""
    return DataError(
        f"column {name!r} has dtype {dtype}, which a formula cannot use. {USABLE} "
        f"{usable_way(dtype, name)} {_OTHERWISE}"
    )


def unusable_objects(name: str, types: str) -> DataError:
    """Build the error for a column of Python objects of a type, or of several, listed."""
    several = types.split(", ")
    if len(several) == 1:
        return DataError(
            f"column {name!r} holds values of the type {types}, which a formula cannot use. "
            f"{USABLE} {usable_way(types, name)} {_OTHERWISE}"
        )
    way = (
        ".astype(str)"
        if {"date", "datetime", "Timestamp"}.isdisjoint(several)
        else "pd.to_datetime"
    )
    return DataError(
        f"column {name!r} mixes values of the types {types}. {USABLE} Convert the column to one "
        f"of them, for example with {way}."
    )
