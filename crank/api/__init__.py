"""The front door: turn names into objects, check the data, fit; one file a kind of ranker."""

from crank.api.distilling import distill
from crank.api.fit_additive import additive
from crank.api.fit_blend import blend
from crank.api.fit_booster import boost
from crank.api.fit_forest import forest
from crank.api.fit_linear import linear
from crank.api.fit_tree import fit

__all__ = ["additive", "blend", "boost", "distill", "fit", "forest", "linear"]
