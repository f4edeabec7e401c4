"""Arrow's numbers become NumPy's: the same values, without a third library."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import crank
from crank.datafiles.arrow import as_array

pyarrow = pytest.importorskip("pyarrow")


@pytest.mark.parametrize("start", [0, 1, 13])
def test_numbers_of_arrow_are_viewed_and_missing_ones_are_nan(start: int) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=50)
    for absent in (np.zeros(50, dtype=bool), rng.random(50) < 0.3, np.ones(50, dtype=bool)):
        found = as_array(pyarrow.array(values, mask=absent)[start:], np.float64)
        np.testing.assert_array_equal(found, np.where(absent, np.nan, values)[start:])
    codes = pyarrow.array(np.arange(50, dtype=np.int32))[start:]
    assert as_array(codes, np.int32).tolist() == codes.to_pylist()
    assert as_array(pyarrow.array([], pyarrow.float64()), np.float64).shape == (0,)


def test_numbers_that_are_viewed_are_not_copied() -> None:
    values = pyarrow.array(np.arange(5.0))
    found = as_array(values, np.float64)
    assert found.__array_interface__["data"][0] == values.buffers()[1].address


def test_scoring_a_csv_file_loads_neither_pandas_nor_numba(tmp_path: Path) -> None:
    x = np.arange(60.0)
    data = {"x": x % 7, "g": np.where(x % 3 > 1, "a", "b"), "y": x % 7}
    crank.fit(data, "y ~ x + g", max_depth=3, prune=None).to_json(tmp_path / "m.json")
    (tmp_path / "a.csv").write_text("x,g\n" + "1,a\n,b\nNA,a\n" * 20)
    code = (
        "import sys; from crank.scoring import file_scorer, score_file; "
        "score_file(file_scorer('m.json'), 'a.csv', 'out.csv', show=False); "
        "print({'pandas', 'numba', 'scipy', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"
