"""Simulated data whose optimal ranking is known: the models of the paper, ready to rank."""

from crank.datasets.models import exponential_family, no_optimal_rule, regression
from crank.datasets.paper import paper_sample, paper_toy
from crank.datasets.sample import Sample

__all__ = [
    "Sample",
    "exponential_family",
    "no_optimal_rule",
    "paper_sample",
    "paper_toy",
    "regression",
]
