"""Every plot of a model: functions that return matplotlib Axes and take ``ax``.

Plots need the extra ``plot``; nothing here imports matplotlib before a plot is asked for, and no
plot changes its settings or shows a window.
"""

from crank.report.penalties import plot_path
from crank.report.plot_calibration import plot_calibration
from crank.report.plot_curves import plot_iroc, plot_profile, plot_pruning
from crank.report.plot_effects import plot_effects
from crank.report.plot_leaves import plot_leaves
from crank.report.plot_rounds import plot_rounds
from crank.report.plot_terms import plot_importance, plot_score
from crank.report.tree_plot import plot_tree

__all__ = [
    "plot_calibration",
    "plot_effects",
    "plot_importance",
    "plot_iroc",
    "plot_leaves",
    "plot_path",
    "plot_profile",
    "plot_pruning",
    "plot_rounds",
    "plot_score",
    "plot_tree",
]
