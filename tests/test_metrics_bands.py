from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from crank.errors import DataError, OptionError
from crank.metrics import auc_profile, concordance, iroc_band, iroc_curve, profile_band
from crank.metrics.profile import Weighting


@pytest.fixture
def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    s = rng.normal(size=150)
    return (s + rng.normal(size=150)).round(1), s.round(1), rng.random(150) + 0.1


@pytest.mark.parametrize("weighted", [False, True])
def test_profile_band_is_the_profile_with_the_error_of_each_bipartite_problem(
    sample: tuple[np.ndarray, np.ndarray, np.ndarray], weighted: bool
) -> None:
    """At a fixed threshold the AUC is d_τ of the binary response, whose error is R's."""
    y, s, mass = sample
    w = mass if weighted else None
    band, profile = profile_band(y, s, points=10**6, weights=w), auc_profile(y, s, weights=w)
    assert band.threshold.tolist() == profile.threshold.tolist()
    np.testing.assert_array_equal(band.auc, profile.auc)
    np.testing.assert_array_equal(band.quantile, profile.quantile)
    for at in range(0, len(band.auc), 9):
        apart = y != band.threshold[at]
        binary = concordance(
            (y > band.threshold[at])[apart],
            s[apart],
            metric="kendall",
            weights=None if w is None else w[apart],
        )
        assert band.auc[at] == pytest.approx(binary.estimate, abs=1e-13)
        if 0.0 < binary.estimate < 1.0:
            assert band.se[at] == pytest.approx(binary.se, abs=1e-13)
            assert band.low[at] == pytest.approx(binary.ci_low, abs=1e-12)
            assert band.high[at] == pytest.approx(binary.ci_high, abs=1e-12)


def test_profile_band_takes_thresholds_spread_over_the_distribution(
    sample: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    y, s, _ = sample
    band = profile_band(y, s, points=9, alpha=0.1)
    assert len(band.threshold) == 9
    np.testing.assert_allclose(band.quantile, np.arange(1, 10) / 10, atol=0.03)
    assert band.level == pytest.approx(0.9)
    assert ((band.low >= 0) & (band.low <= band.auc)).all()
    assert ((band.high <= 1) & (band.high >= band.auc)).all()
    names = ["threshold", "quantile", "auc", "se", "low", "high"]
    assert band.to_frame().columns.tolist() == names


def test_profile_band_of_a_perfect_score_is_not_a_line() -> None:
    band = profile_band(np.arange(20), np.arange(20), points=3)
    assert band.auc.tolist() == [1.0, 1.0, 1.0]
    assert (band.low < 1.0).all()
    assert (band.high == 1.0).all()


@pytest.mark.parametrize("weighting", ["triple", "uniform"])
def test_iroc_band_surrounds_the_curve(
    sample: tuple[np.ndarray, np.ndarray, np.ndarray], weighting: Weighting
) -> None:
    y, s, w = sample
    options: dict[str, Any] = {"weighting": weighting, "grid": 10, "weights": w}
    band = iroc_band(y, s, n_boot=100, random_state=0, **options)
    curve = iroc_curve(y, s, **options)
    assert band.alpha.tolist() == curve.alpha.tolist()
    assert band.iroc.tolist() == curve.iroc.tolist()
    assert (band.low <= band.high).all()
    assert (band.low[2:-1] < band.iroc[2:-1]).all()
    assert (band.high[2:-1] > band.iroc[2:-1]).all()
    assert (band.low[-1], band.high[-1], band.low[0], band.high[0]) == (1.0, 1.0, 0.0, 0.0)
    assert (band.n_boot, band.weighting, band.level) == (100, weighting, 0.95)
    assert band.to_frame().columns.tolist() == ["alpha", "iroc", "low", "high"]


def test_iroc_band_depends_on_the_seed_alone(
    sample: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    y, s, _ = sample
    first, again, other = (
        iroc_band(y, s, grid=5, n_boot=20, random_state=seed) for seed in (1, 1, 2)
    )
    generator = iroc_band(y, s, grid=5, n_boot=20, random_state=np.random.default_rng(1))
    assert first.low.tolist() == again.low.tolist() == generator.low.tolist()
    assert first.low.tolist() != other.low.tolist()


def test_iroc_band_narrows_with_more_rows_and_less_confidence(
    sample: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    y, s, _ = sample
    options: dict[str, Any] = {"grid": 5, "n_boot": 200, "random_state": 3}
    wide = iroc_band(y, s, **options)
    for narrow in (
        iroc_band(np.tile(y, 4), np.tile(s, 4), **options),
        iroc_band(y, s, alpha=0.5, **options),
    ):
        ratio = (narrow.high - narrow.low)[2:-1] / (wide.high - wide.low)[2:-1]
        assert (ratio < 0.8).all()


def test_bands_of_the_smallest_sample() -> None:
    assert iroc_band([1, 2, 3], [1, 2, 3], grid=2, n_boot=5, random_state=0).iroc[1] == 1.0
    assert profile_band([1, 2, 3], [1, 2, 3]).auc.tolist() == [1.0]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: profile_band([1, 2, 3], [1, 2, 3], points=0),
            OptionError,
            "points=0 is not allowed",
        ),
        (
            lambda: profile_band([1, 2, 3], [1, 2, 3], alpha=2),
            OptionError,
            "alpha=2 is not allowed",
        ),
        (lambda: iroc_band([1, 2, 3], [1, 2, 3], n_boot=0), OptionError, "n_boot=0 is not allowed"),
        (
            lambda: iroc_band([1, 2, 3], [1, 2, 3], weighting=cast(Any, "x")),
            OptionError,
            "weighting=.x. is not allowed",
        ),
        (lambda: iroc_band([1, 2, 2], [1, 2, 3]), DataError, "at least 3"),
    ],
)
def test_bad_arguments_are_named(
    call: Callable[..., Any], error: type[OptionError], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
