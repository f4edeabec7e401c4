"""``crank serve``: a model behind HTTP."""

from __future__ import annotations

import argparse

EXAMPLES = """
examples:
  crank serve m.onnx --port 8000
"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("model", metavar="MODEL", help="an ONNX graph or a JSON model file")
    command.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1, this machine")
    command.add_argument("--port", type=int, default=8000, help="default: 8000")
    command.add_argument(
        "--max-bytes", type=int, default=32 * 2**20, metavar="N", help="of a body (default: 32 MiB)"
    )
    command.add_argument(
        "--max-rows", type=int, default=100_000, metavar="N", help="of a batch (default: 100000)"
    )
    command.add_argument(
        "--log-level", choices=("error", "warning", "info", "debug"), default="warning"
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve a model."""
    from crank.errors import require

    for package in ("fastapi", "uvicorn", "prometheus_client"):
        require(package, "serve")
    from crank.service.app import run

    run(
        arguments.model,
        host=arguments.host,
        port=arguments.port,
        max_bytes=arguments.max_bytes,
        max_rows=arguments.max_rows,
        log_level=arguments.log_level,
    )
