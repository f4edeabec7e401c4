"""Limited time of a blend, by a clock that moves only when it is told to."""

from typing import Any

import numpy as np
import pytest

import crank
from crank.api import recipes, timetable
from crank.api.recipes import Recipe
from crank.api.timetable import Timetable
from crank.rankers.booster import BoosterRanker

CHEAP = Recipe("cheap", "linear", cost=10.0)
SHORT = Recipe("short", "booster", cost=30.0)
LONG = Recipe("long", "booster", cost=60.0)
DEAR = Recipe("dear", "additive", cost=300.0)
MILLION = (50_000, 20)
"""Rows and columns of a million values, where costs are seconds."""


class Clock:
    """Seconds that pass when somebody says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(vars(timetable)["time"], "monotonic", found)
    return found


def test_without_a_limit_nothing_is_refused_or_stopped(clock: Clock) -> None:
    times = Timetable(*MILLION)
    for recipe in (SHORT, DEAR):
        assert times.refusal(recipe) == ""
        times.begin(recipe)
        assert times.search_ends is None
        assert times.left == np.inf
        clock.now += 1e6
        times.done(recipe)


def test_time_is_kept_for_the_choice_at_the_end(clock: Clock) -> None:
    assert Timetable(100_000, 20, clock.now + 60.0).left == pytest.approx(57.0)
    assert Timetable(10_000_000, 2, clock.now + 60.0).left == 45.0


def test_the_first_booster_takes_what_is_left_and_the_next_needs_half_of_its_time(
    clock: Clock,
) -> None:
    times = Timetable(*MILLION, clock.now + 21.5)
    assert times.refusal(SHORT) == times.refusal(LONG) == ""
    times.begin(SHORT)
    assert times.search_ends == clock.now + 0.75 * 20.0
    assert times.refusal(SHORT) == ""  # 30 s were it as fast as once; it may be twice as fast
    assert times.refusal(LONG) == "it would take about 60 s, and 20 s were left"


def test_a_booster_that_was_stopped_tells_nothing_about_the_machine(clock: Clock) -> None:
    for took, expected in ((14.0, 300.0 * 14.0 / 30.0), (16.0, 300.0)):
        times = Timetable(*MILLION, clock.now + 21.5)
        times.begin(SHORT)
        clock.now += took
        times.done(SHORT)
        assert f"about {expected:.0f} s" in times.refusal(DEAR)


def test_the_speed_is_learned_from_members_that_are_done(clock: Clock) -> None:
    times = Timetable(*MILLION, clock.now + 201.5)
    assert times.refusal(DEAR) == ""
    times.begin(CHEAP)
    clock.now += 30.0  # three times as slow
    times.done(CHEAP)
    assert times.refusal(DEAR) == "it would take about 900 s, and 170 s were left"
    clock.now += 170.0
    assert times.refusal(LONG) == "the time was over before its turn"


def test_curves_cost_more_in_many_columns() -> None:
    assert DEAR.seconds(50_000, 20) == 300.0
    assert DEAR.seconds(2_500, 400) == pytest.approx(300.0 * 20**1.5)
    assert DEAR.seconds(800_000, 20) == 300.0 * 8.0
    assert LONG.seconds(5_000, 200) == LONG.seconds(50_000, 20) == 60.0


def frame() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    return {"x": x, "y": x + rng.normal(size=120)}


def test_with_a_limit_the_cheapest_members_come_first(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def member(name: str, cost: float) -> Recipe:
        def fit(data: Any, formula: str, **given: Any) -> Any:
            names.append(name)
            clock.now += cost
            return crank.linear(data, formula, **given)

        return Recipe(name, "", function=fit, cost=6.0 * cost / (120 / 1e6) ** recipes.GROWTH)

    library = {one.name: one for one in (member("slow", 9.0), member("fast", 1.0))}
    monkeypatch.setattr(recipes, "LIBRARY", library)
    monkeypatch.setitem(recipes.EFFORTS, "quick", tuple(library))
    monkeypatch.setitem(recipes.BUDGETS, "quick", np.inf)
    m = crank.blend(frame(), "y ~ x", effort="quick")
    assert names == ["slow"] * 6 + ["fast"] * 6
    names.clear()
    m = crank.blend(frame(), "y ~ x", effort="quick", time_limit=12.0)
    assert names == ["fast"] * 6
    assert m.left_out[0].because == "it would take about 54 s, and 6 s were left"
    names.clear()
    m = crank.blend(frame(), "y ~ x", effort="quick", time_limit=42.0)
    assert names == ["fast"] * 6 + ["slow"]  # 54 s in 36 s may be, until one fit is known
    assert m.left_out[0].because == "one fit takes 9.0 s, 5 more would not be done in time"
    names.clear()
    crank.blend(frame(), "y ~ x", members=["slow", "fast"], time_limit=42.0)
    assert names == ["slow"] * 6  # the first is always fitted, and you name the order


def test_a_booster_stops_its_search_in_time_to_be_trained(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = vars(crank.fitting.rounds)
    grow = rounds["Training"].grow

    def slow(training: Any, more: int) -> None:
        clock.now += 1.0
        grow(training, more)

    monkeypatch.setattr(rounds["Training"], "grow", slow)
    m = crank.blend(frame(), "y ~ x", members=["rank"], cv=2, time_limit=16.0)
    # three quarters of 16 s are six looks at two folds each, a look every five rounds
    ranker = m.members[0].model.ranker
    assert isinstance(ranker, BoosterRanker)
    assert ranker.validation is not None
    assert len(ranker.validation.rounds) == 6
