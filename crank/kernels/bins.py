"""Numbers of bins: 0 to 254 hold values in increasing order, the last one missing values."""

from __future__ import annotations

MISSING_BIN = 255
"""The bin of missing values."""
