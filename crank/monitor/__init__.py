"""Watch a model at work: whether new data are still like those it was fitted to."""

from __future__ import annotations

from crank.monitor.changes import Drift, drift

__all__ = ["Drift", "drift"]
