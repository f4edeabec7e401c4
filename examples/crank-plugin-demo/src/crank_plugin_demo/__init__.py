"""Quadratic discriminant splits for crank."""

from crank_plugin_demo.qda import Qda, QdaRule

__all__ = ["Qda", "QdaRule"]
