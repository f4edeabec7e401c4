"""The mean of ROC curves over thresholds, compiled. Importing this module imports numba."""

from __future__ import annotations

import numpy as np

from crank.kernels.compiler import kernel
from crank.kernels.order import FloatArray, IntArray
from crank.kernels.roc import RocFamily

# groups that a pointer walks before it asks the tree of sums: the walk is what usually happens,
# the tree what bounds it on any order of the data
WALK = 16


def mean_roc_on_grid(family: RocFamily, m: int) -> FloatArray:
    """Evaluate the mean ROC curve at α = 0, 1/m, …, 1; see `crank.kernels.roc`.

    Thresholds are swept downwards, with a pointer for each α to the score group at which the curve
    passes it. A threshold moves few rows, so pointers move little. It takes O(n (m + log n)) on
    ordinary data and O(n m log n) on any.
    """
    result: FloatArray = _sweep(family.group, family.weight, family.edges, family.share, m)
    return result


@kernel
def _add(tree: IntArray, group: int, weight: int) -> None:
    """Add a weight to one group of a tree of sums (Fenwick)."""
    i = group + 1
    while i < len(tree):
        tree[i] += weight
        i += i & -i


@kernel
def _sweep(
    group: IntArray, weight: IntArray, edges: IntArray, share: FloatArray, m: int
) -> FloatArray:
    n_groups = group.max() + 1
    top = 1
    while 2 * top <= n_groups:
        top *= 2
    # one empty group past the end, where a pointer at α = 1 rests
    negative = np.zeros(n_groups + 1, np.int64)
    positive = np.zeros(n_groups + 1, np.int64)
    negative_tree = np.zeros(n_groups + 1, np.int64)
    positive_tree = np.zeros(n_groups + 1, np.int64)
    negatives = 0
    positives = 0
    for row in range(len(group)):
        negative[group[row]] += weight[row]
        _add(negative_tree, group[row], weight[row])
        negatives += weight[row]
    at = np.zeros(m + 1, np.int64)
    negatives_before = np.zeros(m + 1, np.int64)
    positives_before = np.zeros(m + 1, np.int64)
    mean = np.zeros(m + 1)
    for t in range(len(share) - 1, -1, -1):
        for row in range(edges[t], edges[t + 1]):
            g, w = group[row], weight[row]
            negative[g] -= w
            negatives -= w
            _add(negative_tree, g, -w)
            for j in range(m + 1):
                negatives_before[j] -= w if g < at[j] else 0
        if share[t] > 0.0:
            scale = share[t] / positives
            quotient, remainder = negatives // m, negatives % m
            target, rest = 0, 0
            for j in range(m + 1):
                g, below, above = at[j], negatives_before[j], positives_before[j]
                steps = 0
                while below > target and steps < WALK:
                    g -= 1
                    below -= negative[g]
                    above -= positive[g]
                    steps += 1
                while g < n_groups and below + negative[g] <= target and steps < WALK:
                    below += negative[g]
                    above += positive[g]
                    g += 1
                    steps += 1
                if steps == WALK:
                    g, below, above = 0, 0, 0
                    step = top
                    while step > 0:
                        if g + step <= n_groups and below + negative_tree[g + step] <= target:
                            g += step
                            below += negative_tree[g]
                            above += positive_tree[g]
                        step //= 2
                at[j], negatives_before[j], positives_before[j] = g, below, above
                value = float(above)
                if positive[g] > 0 and (rest > 0 or target > below):
                    value += positive[g] * ((target - below + rest / m) / negative[g])
                mean[j] += scale * value
                target += quotient
                rest += remainder
                if rest >= m:
                    rest -= m
                    target += 1
        for row in range(edges[t], edges[t + 1]):
            g, w = group[row], weight[row]
            positive[g] += w
            positives += w
            _add(positive_tree, g, w)
            for j in range(m + 1):
                positives_before[j] += w if g < at[j] else 0
    return mean
