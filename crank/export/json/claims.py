"""How large a stored design would become, checked before it is built: small files claim much."""

from __future__ import annotations

import math
from typing import Any

from crank.errors import ModelFileError

MOST_TEXT = 10**8
"""Characters of all column names together; a thousand times what real designs have."""


MOST_WORK = 10**6
"""Operations on a column for one matrix; what real designs need is below a hundredth of it."""


def check_claims(design: dict[str, Any]) -> None:
    """Refuse a design whose column names would fill the memory, or whose terms take minutes.

    A long name times many levels, or a product of wide terms, makes gigabytes of a small file; a
    spline of high degree in many terms, a minute for one row.
    """
    claims = [_claim(factor) for factor in design["factors"]]
    total = sum(columns * length for columns, length in claims)
    for term, chosen, _ in design["blocks"]:
        parts = [claims[i] for i in chosen if i < len(claims)]
        width = math.prod(columns for columns, _ in parts)
        total += width * (len(term) + sum(length for _, length in parts))
    if total > MOST_TEXT:
        raise ModelFileError("its design makes too many or too long column names.")
    work = [_work(factor) for factor in design["factors"]]
    chosen_work = (work[i] for _, chosen, _ in design["blocks"] for i in chosen if i < len(work))
    if sum(chosen_work) > MOST_WORK:
        raise ModelFileError("its design takes too long to compute.")


def _work(factor: dict[str, Any]) -> int:
    """Bound the operations on a column that a factor takes."""
    degree, steps, knots = (factor.get(key) for key in ("degree", "steps", "knots"))
    count = len(steps) if isinstance(steps, list) else 0
    if isinstance(knots, list):
        count += len(knots) * (1 + degree if type(degree) is int else 4)
    count += sum(_work(part) for part in factor.get("parts", ()) if isinstance(part, dict))
    return count + _claim(factor)[0]


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
