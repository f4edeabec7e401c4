"""A builder of ONNX graphs: tensors are names, numbers become shared constants.

This is what a split rule's ``to_onnx`` hook is given. Element types and versions are fixed here:
``ai.onnx`` 18, ``ai.onnx.ml`` 3 and IR 8, which ONNX Runtime reads since 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from crank.kernels.column_tests import ColumnTest

OPSET, ML_OPSET, IR_VERSION = 18, 3, 8
ML = "ai.onnx.ml"

Operand: TypeAlias = "str | float | bool | NDArray[Any]"
Emit: TypeAlias = "Callable[[Graph, list[tuple[str, Any]]], None]"


class Element(IntEnum):
    """Element types of tensors, numbered as the ONNX standard numbers them."""

    FLOAT = 1
    INT64 = 7
    STRING = 8
    BOOL = 9
    DOUBLE = 11


class ColumnSource(Protocol):
    """Where the columns of the design come from."""

    def columns(self, indices: tuple[int, ...]) -> str:
        """Return some columns, shape [N, len(indices)]."""

    def codes(self, column: int) -> tuple[str, int]:
        """Return category codes and the code that stands for missing."""


class Call(NamedTuple):
    """One node: an operator, the names that it reads and writes, its attributes."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str
    attributes: Mapping[str, Any]


class Graph:
    """Collect the nodes of a graph; every method that adds some returns a tensor's name.

    Examples
    --------
    >>> graph = Graph()
    >>> x = graph.input("x", Element.DOUBLE, 1)
    >>> y = graph.op("Mul", graph.op("Add", x, 1.0), 2.0, out="y")
    >>> [call.kind for call in graph.calls], y
    (['Add', 'Mul'], 'y')
    """

    def __init__(self, reserved: Sequence[str] = ()) -> None:
        self.calls: list[Call] = []
        self.inputs: dict[str, tuple[Element, int]] = {}
        self.notes: dict[str, str] = {}
        self.outputs: dict[str, Element] = {}
        self.tests: dict[str, ColumnTest] = {}
        self.kept: dict[Any, str] = {}
        self._constants: dict[Any, tuple[str, NDArray[Any]]] = {}
        self._taken = set(reserved)
        self._waiting: dict[Emit, list[tuple[str, Any]]] = {}
        self._emitter: dict[str, Emit] = {}
        self._source: ColumnSource | None = None

    def input(self, name: str, element: Element, width: int, about: str = "") -> str:
        """Declare an input of shape [N, width]; what is said about it stands in the file."""
        self.inputs[name] = element, width
        self.notes[name] = about
        return name

    def output(self, name: str, element: Element) -> None:
        """Declare an output of shape [N, 1]."""
        self.outputs[name] = element

    def fresh(self) -> str:
        """Make a name that nothing has yet."""
        name = f"t{len(self._taken)}"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def constant(self, value: Operand) -> str:
        """Store a number or an array once, as double unless it holds integers, truth or text."""
        if isinstance(value, str):
            return value
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(np.float64, copy=False)
        if array.dtype.kind in "iu":
            array = array.astype(np.int64, copy=False)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = self.fresh(), array
        return self._constants[key][0]

    def initializer(self, array: NDArray[Any]) -> str:
        """Store an array of any element type as it is."""
        name = self.fresh()
        self._constants[name] = name, array
        return name

    def op(
        self,
        kind: str,
        *operands: Operand,
        out: str | Sequence[str] | None = None,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add a node and return the name of its (first) result."""
        inputs = tuple(self.constant(operand) for operand in operands)
        self.use(inputs)
        outputs = (out,) if isinstance(out, str) else tuple(out or [self.fresh()])
        given = {key: value for key, value in attributes.items() if value is not None}
        self.calls.append(Call(kind, inputs, outputs, domain, given))
        return outputs[0]

    def cast(self, x: Operand, element: Element) -> str:
        """Change the element type of a tensor."""
        return self.op("Cast", x, to=int(element))

    def once(self, key: Any, make: Callable[[], str]) -> str:
        """Return the tensor kept under a key, computing it on first use."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def later(self, emit: Emit, payload: Any) -> str:
        """Promise a tensor, so that equal work of many rules becomes one node.

        When any promised tensor is first used, ``emit(graph, [(name, payload), …])`` must define
        all that were promised with it.
        """
        name = self.fresh()
        self._waiting.setdefault(emit, []).append((name, payload))
        self._emitter[name] = emit
        return name

    def use(self, names: Iterable[str]) -> None:
        """Make sure that promised tensors exist."""
        for name in names:
            if name in self._emitter:
                emit = self._emitter[name]
                batch = self._waiting.pop(emit)
                for promised, _ in batch:
                    del self._emitter[promised]
                emit(self, batch)

    def attach(self, source: ColumnSource) -> None:
        """Say where design columns come from."""
        self._source = source

    def columns(self, indices: Iterable[int]) -> str:
        """Return some columns of the design as double, shape [N, columns]; NaN is missing."""
        assert self._source is not None
        wanted, source = tuple(map(int, indices)), self._source
        return self.once(("columns", wanted), lambda: source.columns(wanted))

    def codes(self, column: int) -> tuple[str, int]:
        """Return a column's category codes as int64, shape [N, 1], and the code of missing."""
        assert self._source is not None
        return self._source.codes(column)

    def serialise(self, metadata: Mapping[str, str], doc: str) -> bytes:
        """Build the model, check it in full, and return the bytes of its file."""
        import onnx
        from onnx import helper, numpy_helper

        from crank._version import __version__

        nodes = [
            helper.make_node(
                call.kind,
                call.inputs,
                call.outputs,
                domain=call.domain,
                **{
                    key: numpy_helper.from_array(value, key) if _is_tensor(value) else value
                    for key, value in call.attributes.items()
                },
            )
            for call in self.calls
        ]
        ins = [
            helper.make_tensor_value_info(
                name, int(element), ["N", width], self.notes.get(name, "")
            )
            for name, (element, width) in self.inputs.items()
        ]
        outs = [
            helper.make_tensor_value_info(name, int(element), ["N", 1])
            for name, element in self.outputs.items()
        ]
        constants = [numpy_helper.from_array(a, name) for name, a in self._constants.values()]
        graph = helper.make_graph(nodes, "crank", ins, outs, constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ML, ML_OPSET)],
            ir_version=IR_VERSION,
            producer_name="crank",
            producer_version=__version__,
            doc_string=doc,
        )
        helper.set_model_props(model, dict(metadata))
        onnx.checker.check_model(model, full_check=True)
        content: bytes = model.SerializeToString(deterministic=True)
        return content


def _is_tensor(value: Any) -> bool:
    return isinstance(value, np.ndarray)
