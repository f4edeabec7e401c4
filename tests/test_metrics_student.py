import math

import pytest
from scipy import stats

from crank.metrics.student import quantile, two_sided, upper_tail

DF = [1, 1.5, 2, 3.3, 9, 19, 49, 200, 1e3, 9e4, 1.1e5, 1e6, math.inf]


@pytest.mark.parametrize("df", DF)
def test_tail_is_scipys(df: int) -> None:
    for t in (0.0, 0.1, 0.5, 1.0, 2.0, 3.0, 8.0, 8.5):
        assert two_sided(t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-7)
        assert two_sided(-t, df) == two_sided(t, df)


@pytest.mark.parametrize("df", DF)
def test_quantile_is_scipys(df: int) -> None:
    for p in (0.6, 0.9, 0.95, 0.975, 0.995, 0.9995):
        # old SciPy has more true digits of the tail than of the quantile
        assert stats.t.sf(quantile(p, df), df) == pytest.approx(1 - p, rel=1e-9)


def test_no_pvalue_is_zero() -> None:
    for df in DF:
        assert two_sided(1e300, df) > 0.0
        assert two_sided(math.inf, df) > 0.0


def test_the_upper_tail_keeps_its_digits() -> None:
    for z in (-9.0, -1.0, 0.0, 2.0, 8.5, 30.0):
        assert upper_tail(z) == pytest.approx(stats.norm.sf(z), rel=1e-12)
    assert upper_tail(1e9) > 0.0
