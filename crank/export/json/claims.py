"""What a stored design would make of a few bytes: refused before it is made."""

from __future__ import annotations

import math
from typing import Any

from crank.errors import ModelFileError

MOST_TEXT = 10**8
"""Characters of all column names together; a thousand times what real designs have."""


def check_claims(design: dict[str, Any]) -> None:
    """Refuse a design whose column names alone would fill the memory.

    A long name times many levels, or a product of wide terms, makes gigabytes of a small file.
    """
    claims = [_claim(factor) for factor in design["factors"]]
    total = sum(columns * length for columns, length in claims)
    for term, chosen, _ in design["blocks"]:
        parts = [claims[i] for i in chosen if i < len(claims)]
        width = math.prod(columns for columns, _ in parts)
        total += width * (len(term) + sum(length for _, length in parts))
    if total > MOST_TEXT:
        raise ModelFileError("its design makes too many or too long column names.")


def _claim(factor: dict[str, Any]) -> tuple[int, int]:
    """Bound the number of columns (or levels) of a factor, and the length of their names."""
    lists = [value for key, value in factor.items() if isinstance(value, list) and key != "steps"]
    columns = max((len(values) for values in lists), default=1)
    degree = factor.get("degree")
    columns = max(columns, degree) if type(degree) is int else columns
    texts = [len(str(item)) for values in lists for item in values if not isinstance(item, dict)]
    length = len(factor.get("name", "")) + max(texts, default=0) + 16
    length += sum(_claim(part)[1] for part in factor.get("parts", ()))
    return columns, length
