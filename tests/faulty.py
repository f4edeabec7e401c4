"""Split learners that were broken on purpose, each with the check that must find the fault."""

from __future__ import annotations

import random
import sys
import threading
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from crank.growing.splitter import LayerSplits, Splitter
from crank.plugins.base import ColumnTest, SplitRule
from crank.plugins.linear import LinearRule
from crank.plugins.logistic import Logistic


class Rule(LinearRule):
    """A good rule, for others to break."""

    decision_at = SplitRule.decision_at


class Good(Logistic):
    """A good learner whose rules are of a class of its own."""

    description = "good"
    rule = Rule
    takes_monotone = False
    last = 0.0  # for those that remember what they should not

    def prepare(self, data: Any) -> Any:
        return self

    # it promises no directions, so its fit takes none
    def fit(self, X: Any, label: Any, weight: Any, *, rng: Any) -> Any:  # type: ignore[override]
        found = super().fit(X, label, weight, rng=rng)
        return None if found is None else type(self).rule(**vars_of(found))


def vars_of(rule: SplitRule) -> dict[str, Any]:
    """Return the fields of a rule, without what it has kept for later."""
    names = ("columns", "coef", "centre", "scale", "bias", "errors")
    return {name: getattr(rule, name) for name in names}


def published(name: str, base: type, members: Mapping[str, Any]) -> Any:
    """Make a class that pickle finds."""
    kind = type(name, (base,), dict(members) | {"__module__": __name__})
    globals()[name] = kind
    return kind


def with_rule(**methods: Any) -> Any:
    """Make a learner whose rules have other methods."""
    return learner(rule=published("FaultyRule", Rule, methods))


def learner(**members: Any) -> Any:
    """Make a learner with other methods or attributes."""
    return published("Faulty", Good, members)()


def decide(self: Any, X: Any) -> Any:
    return LinearRule.decision(self, X)


def writes(self: Any, X: Any) -> Any:
    value = decide(self, X)
    X[:1] = 5.0
    return value


def before_fit(change: Any) -> dict[str, Any]:
    """Break fit by what comes before the good one."""

    def fit(self: Any, X: Any, label: Any, weight: Any, *, rng: Any) -> Any:
        X, label, weight = change(self, X, label, weight)
        return Good.fit(self, X, label, weight, rng=rng)

    return {"fit": fit}


def after_fit(change: Any) -> dict[str, Any]:
    """Break fit by what it does with the good rule."""

    def fit(self: Any, X: Any, label: Any, weight: Any, *, rng: Any) -> Any:
        return change(self, Good.fit(self, X, label, weight, rng=rng), rng)

    return {"fit": fit}


def fails(error: BaseException) -> Any:
    def method(*args: Any, **kwargs: Any) -> Any:
        raise error

    return method


def in_place(which: int) -> dict[str, Any]:
    def change(self: Any, *arrays: Any) -> Any:
        arrays[which][...] *= 2.0
        return arrays

    return before_fit(change)


def says(line: str, stream: str = "stdout") -> dict[str, Any]:
    def change(self: Any, *arrays: Any) -> Any:
        print(line, file=getattr(sys, stream))
        return arrays

    return before_fit(change)


def shifted(amount: Any) -> dict[str, Any]:
    return before_fit(lambda self, X, label, weight: (X + amount(X.shape), label, weight))


def seeds(self: Any, *arrays: Any) -> Any:
    np.random.seed(0)  # noqa: NPY002 - the offence
    return arrays


def seeds_python(self: Any, *arrays: Any) -> Any:
    random.seed(0)
    return arrays


def counts_itself(self: Any, *arrays: Any) -> Any:
    self.fits = getattr(self, "fits", 0) + 1
    return arrays


def warns(self: Any, *arrays: Any) -> Any:
    warnings.warn("did not converge", RuntimeWarning, stacklevel=2)
    return arrays


def refuses(when: Any) -> dict[str, Any]:
    def change(self: Any, X: Any, label: Any, weight: Any) -> Any:
        if when(X, label, weight):
            raise np.linalg.LinAlgError("Singular matrix")
        return X, label, weight

    return before_fit(change)


def away(self: Any, X: Any, label: Any, weight: Any) -> Any:
    elsewhere = threading.current_thread() is not threading.main_thread()
    return X, (-label if elsewhere else label), weight


def remembers(self: Any, data: Any) -> Any:
    self.seen = data
    return self


def memory(self: Any, found: Any, rng: Any) -> Any:
    """Mix each rule with the one before: state between fits."""
    last, Good.last = Good.last, 0.0 if found is None else found.bias
    return None if found is None else type(found)(**vars_of(found) | {"bias": found.bias + last})


def nonlinear(graph: Any, x: str) -> Any:
    return graph.op("Mul", x, 2.0)


def onnx(to_onnx: Any) -> Any:
    return with_rule(to_onnx=to_onnx)


def onnx_of(change: Any) -> Any:
    return onnx(lambda self, graph, x: change(graph, LinearRule.to_onnx(self, graph, x)))


def through_single(graph: Any, value: str) -> str:
    # ONNX Runtime 1.15 leaves out two casts in a row
    single = graph.op("Cast", value, to=1)
    again = graph.op("Mul", graph.op("Sign", single), graph.op("Abs", single))
    return str(graph.op("Cast", again, to=11))


class Halver(Splitter):
    """Cut each node at 0 of the first column; faults change its answer."""

    def __init__(self, data: Any, change: Any) -> None:
        self.data, self.change = data, change

    def split(self, task: Any) -> Any:
        from crank.growing.rule import Split
        from crank.plugins.stump import StumpRule

        rows = task.ranks.row[task.layer.position]
        left = np.nan_to_num(self.data.X[rows, 0]) > 0.0
        splits: list[Any] = []
        for start, end in zip(task.layer.bounds[:-1], task.layer.bounds[1:], strict=True):
            size = int(left[start:end].sum())
            enough = min(size, end - start - size) >= task.min_leaf
            splits.append(Split(StumpRule(0, 0.0)) if enough else None)
            left[start:end] &= enough
        return self.change(task, LayerSplits(splits, left))


def splitter(change: Any) -> Any:
    return learner(prepare=lambda self, data: Halver(data, change))


def one_row(task: Any, found: Any) -> Any:
    left = np.zeros(len(found.left), dtype=bool)
    left[0] = True
    return LayerSplits(found.splits, left)


def flips() -> Any:
    turn = [False]

    def change(task: Any, found: Any) -> Any:
        turn[0] = not turn[0]
        none = LayerSplits([None] * len(found.splits), np.zeros(len(found.left), dtype=bool))
        return found if turn[0] else none

    return change


def task_in_place(task: Any, found: Any) -> Any:
    task.score[:] = 0.0
    return found


class NeverEqual(float):
    """A number that the constructor makes another of."""


def keeps_nothing(self: Any, C: float = 1.0, more: int = 2) -> None:
    Good.__init__(self, C)


def doubles(self: Any, C: float = 1.0) -> None:
    Good.__init__(self, 2.0 * C)


def unpicklable(self: Any, C: float = 1.0) -> None:
    Good.__init__(self, C)
    self.f = lambda: 1


def dict_with(**more: Any) -> Any:
    return lambda self: LinearRule.to_dict(self) | more


FAULTS: dict[str, tuple[str, Any]] = {
    # what decision gives
    "a column instead of a vector": (
        "decides",
        lambda: with_rule(decision=lambda s, X: decide(s, X)[:, None]),
    ),
    "single precision": (
        "decides",
        lambda: with_rule(decision=lambda s, X: decide(s, X).astype("f")),
    ),
    "integers": (
        "decides",
        lambda: with_rule(decision=lambda s, X: (decide(s, X) > 0).astype(int)),
    ),
    "truth values": ("decides", lambda: with_rule(decision=lambda s, X: decide(s, X) > 0)),
    "complex numbers": ("decides", lambda: with_rule(decision=lambda s, X: decide(s, X) + 0j)),
    "a list": ("decides", lambda: with_rule(decision=lambda s, X: decide(s, X).tolist())),
    "None as decision": ("decides", lambda: with_rule(decision=lambda s, X: None)),
    "one value for all rows": (
        "decides",
        lambda: with_rule(decision=lambda s, X: decide(s, X)[:1]),
    ),
    "no empty batches": (
        "decides",
        lambda: with_rule(decision=lambda s, X: decide(s, X) if X[0] is not None else None),
    ),
    "relative to the batch": (
        "decides",
        lambda: with_rule(
            decision=lambda s, X: decide(s, X) - (np.median(decide(s, X)) if len(X) else 0)
        ),
    ),
    "NaN for some rows": (
        "decides",
        lambda: with_rule(decision=lambda s, X: np.where(X[:, 0] > 1.0, np.nan, decide(s, X))),
    ),
    "infinity for some rows": (
        "decides",
        lambda: with_rule(decision=lambda s, X: np.where(X[:, 0] > 1.0, np.inf, decide(s, X))),
    ),
    "an error in decision": ("decides", lambda: with_rule(decision=fails(KeyError("lost")))),
    "sys.exit in decision": ("decides", lambda: with_rule(decision=fails(SystemExit(3)))),
    "another decision_at": (
        "decides",
        lambda: with_rule(decision_at=lambda s, X, rows: -decide(s, X[rows])),
    ),
    "a column test that it is not": (
        "decides",
        lambda: with_rule(column_test=lambda s: ColumnTest(1, 0.0, True, None, False)),
    ),
    "memory layout": (
        "decides",
        lambda: with_rule(
            decision=lambda s, X: (
                decide(s, X) * (-1.0 if X.flags.f_contiguous and len(X) > 1 else 1.0)
            )
        ),
    ),
    "the wrong side": ("separates", lambda: with_rule(decision=lambda s, X: -decide(s, X))),
    "the first column as it is": (
        "separates",
        lambda: with_rule(decision=lambda s, X: np.nan_to_num(X[:, -1].astype(np.float64))),
    ),
    # what fit gives
    "never a rule": ("decides", lambda: learner(fit=lambda s, X, label, weight, *, rng: None)),
    "a number from fit": ("decides", lambda: learner(fit=lambda s, X, label, weight, *, rng: 3)),
    "text from fit": ("decides", lambda: learner(fit=lambda s, X, label, weight, *, rng: "rule")),
    "a rule's class": ("decides", lambda: learner(fit=lambda s, X, label, weight, *, rng: Rule)),
    "an error in fit": ("decides", lambda: learner(fit=fails(RuntimeError("no luck")))),
    "sys.exit in fit": ("decides", lambda: learner(fit=fails(SystemExit("bye")))),
    "constant columns": (
        "survives",
        lambda: learner(**refuses(lambda X, y, w: not (np.ptp(X, axis=0) > 0).all())),
    ),
    "small nodes": ("survives", lambda: learner(**refuses(lambda X, y, w: len(X) < 5))),
    "wide nodes": ("survives", lambda: learner(**refuses(lambda X, y, w: X.shape[1] > len(X)))),
    "large scales": ("survives", lambda: learner(**refuses(lambda X, y, w: np.abs(X).max() > 1e6))),
    "heavy rows": ("survives", lambda: learner(**refuses(lambda X, y, w: w.max() > 30.0))),
    "missing values": (
        "takes missing values",
        lambda: learner(**refuses(lambda X, y, w: np.isnan(X).any())),
    ),
    "no ear for weights": (
        "follows weights",
        lambda: learner(**before_fit(lambda s, X, y, w: (X, y, np.ones(len(w))))),
    ),
    "weights upside down": (
        "follows weights",
        lambda: learner(**before_fit(lambda s, X, y, w: (X, y, w**-2))),
    ),
    "weights to the sixth power": (
        "weighs like copies",
        lambda: learner(**before_fit(lambda s, X, y, w: (X, y, w**6))),
    ),
    # promises
    "a promise about directions": ("declares itself", lambda: learner(takes_monotone=True)),
    "directions that are ignored": (
        "keeps directions",
        lambda: learner(
            takes_monotone=True,
            fit=lambda s, X, label, weight, *, rng, monotone=(): Good.fit(
                s, X, label, weight, rng=rng
            ),
        ),
    ),
    "a promise about categories": ("declares itself", lambda: learner(takes_categories=True)),
    "categories as numbers": (
        "takes categories",
        lambda: learner(
            takes_categories=True,
            fit=lambda s, X, label, weight, *, rng, levels=(): Good.fit(
                s, X, label, weight, rng=rng
            ),
        ),
    ),
    "a promise about ONNX": (
        "declares itself",
        lambda: learner(rule=published("Silent", Rule, {"to_onnx": SplitRule.to_onnx})),
    ),
    "no rule class": ("declares itself", lambda: learner(rule=None)),
    "an abstract rule": ("declares itself", lambda: learner(rule=SplitRule)),
    "no description": ("declares itself", lambda: learner(description="")),
    "a description of two lines": ("declares itself", lambda: learner(description="one\ntwo")),
    "a description that is no text": ("declares itself", lambda: learner(description=7)),
    "a url that is no text": ("declares itself", lambda: learner(url=None)),
    "a vague promise": ("declares itself", lambda: learner(takes_missing="mostly")),
    "requires as a list": ("declares itself", lambda: learner(requires=["numpy"])),
    "requires without a source": ("declares itself", lambda: learner(requires={"numpy": None})),
    "requires what is not there": (
        "declares itself",
        lambda: learner(requires={"no_such_package": "x"}),
    ),
    "a contract of the future": ("declares itself", lambda: learner(contract=2)),
    "a contract in words": ("declares itself", lambda: learner(contract="1")),
    "fit without rng": ("declares itself", lambda: learner(fit=lambda s, X, label, weight: None)),
    "fit without weight": (
        "declares itself",
        lambda: learner(fit=lambda s, X, label, *, rng: None),
    ),
    # parameters
    "a parameter that is lost": ("keeps its parameters", lambda: learner(__init__=keeps_nothing)),
    "a parameter that is changed": ("keeps its parameters", lambda: learner(__init__=doubles)),
    "a repr in prose": ("keeps its parameters", lambda: learner(__repr__=lambda s: "<my learner>")),
    "a repr of another": (
        "keeps its parameters",
        lambda: learner(__repr__=lambda s: "Faulty(C=9.0)"),
    ),
    "open parameters": (
        "keeps its parameters",
        lambda: learner(
            parameter_names=classmethod(lambda cls: ("C", "no_such_parameter")),
            __init__=lambda s, C=1.0, **kw: Good.__init__(s, C),
        ),
    ),
    # randomness and memory
    "NumPy's own randomness": (
        "repeats itself",
        lambda: learner(**shifted(np.random.standard_normal)),
    ),
    "Python's own randomness": (
        "repeats itself",
        lambda: learner(**shifted(lambda shape: 0.1 * random.random())),
    ),
    "randomness without a seed": (
        "repeats itself",
        lambda: learner(
            **shifted(lambda shape: np.random.Generator(np.random.PCG64()).normal(size=shape))
        ),
    ),
    "NumPy's generator seeded": ("repeats itself", lambda: learner(**before_fit(seeds))),
    "Python's generator seeded": ("repeats itself", lambda: learner(**before_fit(seeds_python))),
    "state between fits": ("repeats itself", lambda: learner(**after_fit(memory))),
    "a memory": ("stays as it was", lambda: learner(**before_fit(counts_itself))),
    "a memory of the matrix": ("stays as it was", lambda: learner(prepare=remembers)),
    "no head for threads": ("works in threads", lambda: learner(**before_fit(away))),
    "what cannot be pickled": ("is copied", lambda: learner(__init__=unpicklable)),
    "a rule that cannot be pickled": (
        "is copied",
        lambda: with_rule(__reduce__=fails(TypeError("no pickles"))),
    ),
    # data
    "X in place": ("leaves data alone", lambda: learner(**in_place(0))),
    "label in place": ("leaves data alone", lambda: learner(**in_place(1))),
    "weight in place": ("leaves data alone", lambda: learner(**in_place(2))),
    "rows in place": ("decides", lambda: with_rule(decision=writes)),
    "prepare gives nothing": ("prepares", lambda: learner(prepare=lambda s, data: None)),
    "prepare gives a number": ("prepares", lambda: learner(prepare=lambda s, data: 3)),
    "an error in prepare": ("prepares", lambda: learner(prepare=fails(OSError("no")))),
    "the matrix in place": (
        "prepares",
        lambda: learner(prepare=lambda s, data: data.X.__setitem__(0, 1.0) or s),
    ),
    "a prepared copy that learns nothing": (
        "prepares",
        lambda: learner(
            prepare=lambda s, data: published(
                "Deaf", Good, {"fit": lambda s, X, label, weight, *, rng: None}
            )()
        ),
    ),
    # files
    "arrays in JSON": ("is stored as JSON", lambda: with_rule(to_dict=lambda s: vars_of(s))),
    "NaN in JSON": ("is stored as JSON", lambda: with_rule(to_dict=dict_with(note=float("nan")))),
    "a set in JSON": ("is stored as JSON", lambda: with_rule(to_dict=dict_with(note={1}))),
    "a bias that is lost": ("is stored as JSON", lambda: with_rule(to_dict=dict_with(bias=0.0))),
    "rounded numbers": (
        "is stored as JSON",
        lambda: with_rule(
            to_dict=lambda s: LinearRule.to_dict(s) | {"coef": np.round(s.coef, 2).tolist()}
        ),
    ),
    "what cannot be read": (
        "is stored as JSON",
        lambda: with_rule(from_dict=classmethod(lambda cls, d: cls(**d))),
    ),
    "what is read as something else": (
        "is stored as JSON",
        lambda: with_rule(from_dict=classmethod(lambda cls, d: 3)),
    ),
    "a field that is not read back": (
        "is stored as JSON",
        lambda: with_rule(to_dict=lambda s: LinearRule.to_dict(s) | {"id": id(s)}),
    ),
    "an error in to_dict": (
        "is stored as JSON",
        lambda: with_rule(to_dict=fails(AttributeError("coef_"))),
    ),
    "ONNX of another value": (
        "exports ONNX",
        lambda: onnx_of(lambda graph, value: graph.op("Mul", value, 1.001)),
    ),
    "ONNX of the other sign": (
        "exports ONNX",
        lambda: onnx_of(lambda graph, value: graph.op("Neg", value)),
    ),
    "ONNX in single precision": (
        "exports ONNX",
        lambda: onnx_of(lambda graph, value: graph.op("Cast", value, to=1)),
    ),
    "ONNX through single precision": (
        "exports ONNX",
        lambda: onnx_of(through_single),
    ),
    "ONNX of another shape": (
        "exports ONNX",
        lambda: onnx(lambda s, graph, x: graph.op("Mul", x, 2.0)),
    ),
    "ONNX without rows": (
        "exports ONNX",
        lambda: onnx_of(lambda graph, value: graph.op("Squeeze", value, np.array([1]))),
    ),
    "ONNX that loses missing values": (
        "exports ONNX",
        lambda: onnx(
            lambda s, graph, x: graph.op(
                "Add",
                graph.op(
                    "MatMul",
                    graph.op("Div", graph.op("Sub", graph.columns(s.columns), s.centre), s.scale),
                    s.coef[:, None],
                ),
                s.bias,
            )
        ),
    ),
    "an error in to_onnx": ("exports ONNX", lambda: onnx(fails(ValueError("no opset")))),
    "ONNX without a name": ("exports ONNX", lambda: onnx(lambda s, graph, x: None)),
    "ONNX of an unknown operator": (
        "exports ONNX",
        lambda: onnx_of(lambda graph, value: graph.op("NoSuchOperator", value)),
    ),
    # words
    "two lines": ("describes itself", lambda: with_rule(describe=lambda s, names: "a\nb")),
    "no words": ("describes itself", lambda: with_rule(describe_right=lambda s, names: "")),
    "words that are none": ("describes itself", lambda: with_rule(describe=lambda s, names: 3)),
    "an error in describe": (
        "describes itself",
        lambda: with_rule(describe=fails(IndexError("out of range"))),
    ),
    "too much credit": ("credits columns", lambda: with_rule(credit=lambda s: {0: 1.0, 1: 1.0})),
    "negative credit": ("credits columns", lambda: with_rule(credit=lambda s: {0: 2.0, 1: -1.0})),
    "credit beyond the columns": ("credits columns", lambda: with_rule(credit=lambda s: {7: 1.0})),
    "credit by name": ("credits columns", lambda: with_rule(credit=lambda s: {"first": 1.0})),
    "credit as a list": ("credits columns", lambda: with_rule(credit=lambda s: [1.0, 0.0, 0.0])),
    "warnings": ("keeps quiet", lambda: learner(**before_fit(warns))),
    "prints": ("keeps quiet", lambda: learner(**says("iteration 1"))),
    "prints of errors": ("keeps quiet", lambda: learner(**says("careful", "stderr"))),
    # splitters
    "sides that contradict the rule": (
        "splits layers",
        lambda: splitter(lambda task, found: LayerSplits(found.splits, ~found.left)),
    ),
    "leaves below the minimum": ("splits layers", lambda: splitter(one_row)),
    "sides as integers": (
        "splits layers",
        lambda: splitter(lambda task, found: LayerSplits(found.splits, found.left.astype(int))),
    ),
    "too few sides": (
        "splits layers",
        lambda: splitter(lambda task, found: LayerSplits(found.splits, found.left[1:])),
    ),
    "too many splits": (
        "splits layers",
        lambda: splitter(lambda task, found: LayerSplits([*found.splits, None], found.left)),
    ),
    "a tuple instead of splits": (
        "splits layers",
        lambda: splitter(lambda task, found: (found.splits, found.left)),
    ),
    "another split each time": ("splits layers", lambda: splitter(flips())),
    "the task in place": ("splits layers", lambda: splitter(task_in_place)),
}
