"""Quadratic discriminant splits and a top-weighted criterion for crank."""

from crank_plugin_demo.qda import Qda, QdaRule
from crank_plugin_demo.top import TOP, top_concordance

__all__ = ["TOP", "Qda", "QdaRule", "top_concordance"]
