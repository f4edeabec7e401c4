"""Does one order serve all thresholds? The model against rankers made for one threshold each.

The design, its alternatives and what was measured: docs/design/diagnose.md.
"""

from crank.judging.diagnose.diagnosis import Diagnosis, diagnose

__all__ = ["Diagnosis", "diagnose"]
