"""What the compiler says, and when it keeps silent."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from crank.kernels import compiler
from crank.kernels.compiler import repays

PROGRAM = """
import io, sys

class Terminal(io.StringIO):
    def isatty(self):
        return {terminal}

sys.stderr = Terminal()
import numpy as np
from crank.kernels.compiled_bins import reorder
from crank.kernels.compiled_layer import score_untied_nodes

rows = np.arange(3)
for _ in range(2):
    reorder(np.zeros((2, 3), np.uint8), 0, 2, rows, np.empty(3, np.uint8))
    score_untied_nodes(1, rows.astype(np.int32), np.array([0, 3]), 0, 1, np.empty(3))
sys.stdout.write(sys.stderr.getvalue())
"""


def said(cache: Any, terminal: Any) -> Any:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(terminal=terminal)],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout


def test_compiling_is_announced_once_on_a_terminal_and_only_when_it_happens(tmp_path: Path) -> None:
    line = "crank: compiling for large data, once on this machine; it takes a few seconds\n"
    assert said(tmp_path / "cold", terminal=True) == line
    assert said(tmp_path / "cold", terminal=True) == ""  # the kernels are stored
    assert said(tmp_path / "other", terminal=False) == ""


def test_a_kernel_repays_once_it_is_stored_or_much_was_asked_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "_work", {})
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiler, "is_stored", compiler.is_stored.__wrapped__)
    assert [repays("_never", 40, 100) for _ in range(4)] == [False, False, True, True]
    assert not repays("_other", 1, 100)
    (tmp_path / "kernels_1").mkdir()
    (tmp_path / "kernels_1" / "compiled_x._other_00000000-7.py311.nbi").touch()
    assert not repays("_other", 1, 100)  # of other sources
    name = f"compiled_x._other_{compiler._sources()}-7.py311.nbi"
    (tmp_path / "kernels_1" / name).touch()
    assert repays("_other", 1, 100)


def test_compiled_code_is_kept_by_all_sources_that_it_may_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiler, "__file__", str(tmp_path / "compiler.py"))
    digests = set()
    for text in ("WIDTH = 256", "WIDTH = 512"):  # of a part; the kernel's own file is as it was
        (tmp_path / "compiled_kernel.py").write_text("from crank.kernels.part import WIDTH")
        (tmp_path / "part.py").write_text(text)
        digests.add(compiler._sources.__wrapped__())
    assert len(digests) == 2
    for name in ("reorder", "score_untied_nodes"):
        module = "compiled_bins" if name == "reorder" else "compiled_layer"
        kernel = getattr(import_module(f"crank.kernels.{module}"), name)
        assert kernel.py_func.__qualname__ == f"{name}_{compiler._sources()}"
