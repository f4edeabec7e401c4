"""Model files of format 1, which knew trees only, as files of today."""

from __future__ import annotations

from typing import Any


def upgraded(old: dict[str, Any]) -> dict[str, Any]:
    """Turn a document of format 1 into one of format 2; its fingerprint is not carried over."""
    training = dict(old["training"])
    totals = {"iauc": training.pop("triples"), "kendall": training.pop("pairs")}
    pruning = dict(old["pruning"])
    return {
        "crank_model": 2,
        "crank_version": old["crank_version"],
        "fingerprint": old["fingerprint"],
        "kind": "tree",
        "formula": old["formula"],
        "response": old["response"],
        "training": training,
        "design": old["design"],
        "ranker": {
            "learner": old["learner"],
            "options": old["options"],
            "totals": totals,
            "pruning": {"figure": pruning.pop("metric"), **pruning},
            "leaf_order": old["leaf_order"],
            "leaves": old["leaves"],
            "nodes": [_node(node) for node in old["nodes"]],
        },
    }


def _node(old: dict[str, Any]) -> dict[str, Any]:
    if "split" not in old:
        return old
    split = dict(old["split"])
    gains = {"iauc": split.pop("gain_iauc"), "kendall": split.pop("gain_kendall")}
    return old | {"split": split | {"gains": gains}}
