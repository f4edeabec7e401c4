"""Exact rank statistics for a continuous response, with ties, case weights and inference."""

from __future__ import annotations

from crank.metrics.bands import IrocBand, ProfileBand, iroc_band, profile_band
from crank.metrics.inference import Comparison, Concordance, compare, concordance, influence
from crank.metrics.pairs import kendall
from crank.metrics.profile import AucProfile, auc_profile, iauc
from crank.metrics.roc import IrocCurve, iroc_curve
from crank.metrics.scorers import MetricScorer, get_scorer, scorer_names

__all__ = [
    "AucProfile",
    "Comparison",
    "Concordance",
    "IrocBand",
    "IrocCurve",
    "MetricScorer",
    "ProfileBand",
    "auc_profile",
    "compare",
    "concordance",
    "get_scorer",
    "iauc",
    "influence",
    "iroc_band",
    "iroc_curve",
    "kendall",
    "profile_band",
    "scorer_names",
]
