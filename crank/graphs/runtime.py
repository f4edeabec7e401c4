"""Open a graph with ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from crank.errors import ModelFileError, require


def session(content: bytes, providers: Sequence[str] | None = None) -> Any:
    """Open a model with ONNX Runtime, to work in the thread that calls it."""
    onnxruntime = _runtime()
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


def _runtime() -> Any:
    """Import ONNX Runtime, which from 1.29 on sends its maker reports of use unless told not to."""
    require("onnxruntime", "onnx")
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read once, while it is imported
    import onnxruntime

    # where it had been imported before; older versions have no such function, nor reports
    getattr(onnxruntime, "disable_telemetry_events", lambda: None)()
    return onnxruntime
