"""A sample of rows that does not depend on partitions: those whose content hashes lowest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from crank.cluster.content import mixed
from crank.cluster.engine import Cluster


def sample_rows(cluster: Cluster, size: int, seed: int) -> pd.DataFrame:
    """Draw rows into this process; all of them if there are no more."""
    parts = cluster.gather(lowest_rows, size, seed)
    keys = np.concatenate([key for key, _ in parts])
    full: list[pd.DataFrame] = [rows for _, rows in parts if len(rows)] or [parts[0][1]]
    frame = pd.concat(full, ignore_index=True)
    drawn: pd.DataFrame = frame.iloc[np.argsort(keys, kind="stable")[:size]]
    return drawn.reset_index(drop=True)


def lowest_rows(frame: Any, size: int, seed: int) -> tuple[NDArray[np.uint64], pd.DataFrame]:
    """Return the rows of one partition that may belong to the sample, with their hashes."""
    content = pd.util.hash_pandas_object(frame, index=False).to_numpy().astype(np.uint64)
    key = mixed(content ^ np.uint64(seed))
    chosen = np.argsort(key, kind="stable")[:size]
    return key[chosen], frame.iloc[chosen]
