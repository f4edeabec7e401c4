"""A tree model in a graph: rules give decision values, one ensemble the leaf, a table the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from crank.blame import raised
from crank.errors import CrankError, NotExportableError
from crank.export.onnx.proof import prove
from crank.graphs.ensemble import leaf_numbers
from crank.graphs.graph import Element, Graph
from crank.growing.rule import Split
from crank.growing.tree import Tree
from crank.kernels.column_tests import ColumnTest, tree_of_tests
from crank.records.forest import ForestRecord
from crank.records.tree import TreeRecord


def described(model: TreeRecord) -> dict[str, str]:
    """Say in the file what made the model."""
    return {"learner": model.learner.name, "criterion": model.criterion}


def outputs(graph: Graph, model: TreeRecord, names: Mapping[str, str]) -> None:
    """Write the outputs that were asked for, each under its name."""
    leaf = leaves(graph, model.tree, decisions(graph, model, model.tree))
    number = graph.op("Cast", leaf, out=names.get("leaf"), to=int(Element.INT64))
    for output, name in names.items():
        if output == "leaf":
            graph.output(name, Element.INT64)
            continue
        # looking up a vector is several times as fast as Gather from a table of single numbers
        flat = graph.once("flat leaf", lambda: graph.op("Reshape", number, np.array([-1])))
        found = graph.op("GatherElements", model.ranker.leaf_values(output), flat, axis=0)
        graph.op("Reshape", found, np.array([-1, 1]), out=name)
        graph.output(name, Element.DOUBLE)


def decisions(graph: Graph, model: TreeRecord | ForestRecord, tree: Tree) -> list[str]:
    """Ask every rule for its decision value, in the order in which the tree is walked."""
    inner = [(f"node {n.number}", n.split) for _, n in tree.walk() if n.split]
    whole = graph.later(_matrix, len(model.design.names))
    values = []
    for where, split in inner:
        try:
            values.append(split.rule.to_onnx(graph, whole))
        except (NotExportableError, NotImplementedError) as error:
            raise NotExportableError(
                f"{where} of the tree, made by learner {model.learner.name!r}, cannot "
                f"be written as ONNX: {error}"
            ) from error
        except CrankError:
            raise
        except (Exception, SystemExit) as cause:
            raise raised(type(split.rule), "to_onnx", cause, where) from cause
    prove(inner, model.design, missing=model.learner.takes_missing)
    return values


def _matrix(graph: Graph, batch: list[tuple[str, int]]) -> None:
    for name, width in batch:
        graph.op("Identity", graph.columns(range(width)), out=name)


def leaves(graph: Graph, tree: Tree, values: Sequence[str]) -> str:
    """Route rows to their leaves, numbered best first from 0, in single precision.

    Parameters
    ----------
    graph : Graph
    tree : Tree
    values : sequence of str
        Decision value of each inner node, in the order of `Tree.walk`.
    """
    inner = [(index, node.split) for index, node in tree.walk() if node.split is not None]
    value_at = {index: value for (index, _), value in zip(inner, values, strict=True)}
    test_at = {index: _compared(graph, split, value_at[index]) for index, split in inner}
    columns = sorted({test.column for test in test_at.values() if test is not None})
    others = list(dict.fromkeys(value_at[i] for i, test in test_at.items() if test is None))
    features: list[int | str] = [*columns, *others]
    place = {feature: k for k, feature in enumerate(features)}
    tests: list[tuple[ColumnTest, int, int] | None] = [None] * len(tree.nodes)
    for index, split in inner:
        test = test_at[index]
        if test is None:
            # NaN is on no side of a cut and goes right
            at = place[value_at[index]]
            test = ColumnTest(at, split.cut, split.sign > 0, None, missing_left=False)
        else:
            test = test._replace(column=place[test.column])
        tests[index] = test, tree.nodes[index].left, tree.nodes[index].right
    nodes = tree_of_tests(tests, tree.leaf_of_node)
    assert nodes is not None  # there are no level sets in it
    # a tree of one leaf still has to count the rows
    parts = [graph.columns(columns)] if columns else [] if others else [graph.columns([0])]
    parts += others
    x = parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)
    return leaf_numbers(graph, x, nodes)


def _compared(graph: Graph, split: Split, value: str) -> ColumnTest | None:
    """Return the test that stands for a decision value, if the split merely asks its sign."""
    test = graph.tests.get(value)
    if test is None or split.cut != 0.0:
        return None
    if split.sign > 0:
        return test
    # below 0 goes left: the other way round, and a missing value changes sides with the rest
    return test._replace(above=not test.above, missing_left=not test.missing_left)
