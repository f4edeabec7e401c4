"""Where a command works: in this process, or on a Dask cluster."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from crank.errors import ClusterError, OptionError, require


def add_engine(command: argparse.ArgumentParser) -> None:
    """Let a command work on a cluster."""
    command.add_argument(
        "--engine",
        choices=("local", "dask"),
        default="local",
        help="dask: DATA is a folder of Parquet files, or a pattern of them in quotes",
    )
    command.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="of a Dask cluster, such as tcp://host:8786 (default: threads of this process)",
    )


def check_engine(arguments: argparse.Namespace) -> None:
    """Refuse a scheduler without a cluster."""
    if arguments.scheduler is not None and arguments.engine != "dask":
        raise OptionError("--scheduler belongs to --engine dask. Add that, or leave it out.")


@contextmanager
def dask_client(address: str | None) -> Iterator[Any]:
    """Connect to a scheduler; without an address, Dask works with threads in this process."""
    require("dask", "dask")
    if address is None:
        import dask

        with dask.config.set(scheduler="threads"):
            yield None
        return
    require("distributed", "dask")
    from distributed import Client

    try:
        client = Client(address, timeout="10s", set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"there is no Dask scheduler at {address!r} ({error}). Start one with: dask scheduler"
        ) from None
    with client, client.as_current():  # samples are drawn there too
        try:
            yield client
        except KeyboardInterrupt:
            # Dask would log the waits that were cut off, long after
            for name in ("asyncio", "distributed"):
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
            raise
