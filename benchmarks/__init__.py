"""Benchmarks: crank and its peers take turns in one run; see docs/benchmarks.md."""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime is imported
