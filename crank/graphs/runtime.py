"""Open a graph with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from crank.errors import ModelFileError, require


def session(content: bytes, providers: Sequence[str] | None = None) -> Any:
    """Open a model with ONNX Runtime, to work in the thread that calls it."""
    require("onnxruntime", "onnx")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4  # what goes wrong is raised, not printed
    try:
        return onnxruntime.InferenceSession(
            content, options, providers=list(providers or ["CPUExecutionProvider"])
        )
    except Exception as error:  # the runtime's own classes differ between versions
        raise ModelFileError(
            f"ONNX Runtime {onnxruntime.__version__} cannot open this model: {error}"
        ) from error
