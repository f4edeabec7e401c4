"""The kit of criteria, each check with a criterion broken on purpose; criteria as plugins."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

import crank
from crank import criteria, entries
from crank.criteria import Criterion, criterion_names, get_criterion
from crank.entries import Entry, warn_of_rival
from crank.errors import ModelFileError, OptionError, PluginError, PluginWarning
from crank.export.json.criterion import read_criterion
from crank.metrics.figures import IAUC_UNIFORM, KENDALL
from crank.metrics.node_scores import kendall_scores
from crank.models.forest import ForestModel
from crank.testing import CriterionCheckError, check_criterion

GOOD = Criterion("good", "pairs won less pairs lost", kendall_scores, KENDALL, additive=True)


def faulty(change: Callable[[Any, Any, Any, Any], Any]) -> Criterion:
    def scores(ranks: Any, layer: Any, mass: Any) -> Any:
        return change(kendall_scores(ranks, layer, mass), ranks, layer, mass)

    return replace(GOOD, name="faulty", scores=scores)


def in_place(score: Any, ranks: Any, layer: Any, mass: Any) -> Any:
    ranks.weight[:] = 1.0
    return score


def across_nodes(score: Any, ranks: Any, layer: Any, mass: Any) -> Any:
    return score * len(layer.sizes)


def centred_in_layer(score: Any, ranks: Any, layer: Any, mass: Any) -> Any:
    return score + 1.0


FAULTS = {
    "raises": ("gives scores", lambda s, r, n, m: 1 / 0),
    "no array": ("gives scores", lambda s, r, n, m: list(s)),
    "float32": ("gives scores", lambda s, r, n, m: s.astype(np.float32)),
    "one score too few": ("gives scores", lambda s, r, n, m: s[1:]),
    "NaN": ("gives scores", lambda s, r, n, m: np.where(s > 0, s, np.nan)),
    "changes the weights": ("gives scores", in_place),
    "downwards": ("ranks upwards", lambda s, r, n, m: -s),
    "ties by position": ("ranks upwards", lambda s, r, n, m: s + m.weight * n.within),
    "all above": ("is antisymmetric", centred_in_layer),
    "by distance in y": ("ignores the scale of y", lambda s, r, n, m: s * (1 + np.ptp(r.y))),
    "nodes together": ("keeps nodes apart", across_nodes),
    "no weights": ("weighs like copies", lambda s, r, n, m: s / m.weight),
    "means, not sums": ("adds up", lambda s, r, n, m: s / m.total),
    "nothing to gain": ("grows trees", lambda s, r, n, m: 0.0 * s),
}


@pytest.mark.parametrize("name", ["crank", "kendall", "iauc", "spearman"])
def test_the_built_in_criteria_pass(name: str) -> None:
    report = check_criterion(get_criterion(name))
    assert report.ok
    assert ("adds up" in report.passed) == get_criterion(name).additive


def test_the_criterion_that_is_broken_below_is_good_itself() -> None:
    assert len(check_criterion(GOOD).passed) == 8


@pytest.mark.parametrize("what", FAULTS)
def test_a_fault_is_found_by_its_check(what: str) -> None:
    check, change = FAULTS[what]
    with pytest.raises(CriterionCheckError, match=f"failed {check}: ") as caught:
        check_criterion(faulty(change))
    assert isinstance(caught.value, AssertionError)
    assert all(len(finding.remedy) > 20 for finding in caught.value.report.failures)


def test_every_check_is_proved() -> None:
    from crank.testing.criteria import CHECKS

    assert {check for check, _ in FAULTS.values()} == {check.name for check in CHECKS}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("kendall", "Allowed: a crank.criteria.Criterion"),
        (replace(GOOD, contract=2), "contract = 2. Allowed: 1"),
        (replace(GOOD, scores=cast(Any, None)), "scores = None. Allowed: a function"),
        (replace(GOOD, figure=IAUC_UNIFORM), "Allowed: KENDALL, IAUC of crank.metrics.figures"),
        (
            replace(GOOD, objective=cast(Any, "max")),
            "objective = 'max'. Allowed: 'sum', 'variance'",
        ),
        (
            replace(GOOD, leaf_order=cast(Any, "up")),
            "leaf_order = 'up'. Allowed: 'oriented', 'rank'",
        ),
    ],
)
def test_only_criteria_of_the_right_form_are_checked(wrong: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_criterion(wrong)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Announce what this module defines, as a distribution would."""
    known = dict(entries.known(criteria.GROUP))
    for name, target in (("good", "GOOD"), ("bad", "BAD"), ("odd", "ODD"), ("lost", "LOST")):
        known[name] = Entry(criteria.GROUP, name, "crank-good", "0.2", f"{__name__}:{target}")
    rival = Entry(criteria.GROUP, "kendall", "crank-good", "0.2", f"{__name__}:GOOD")
    known["kendall"] = replace(known["kendall"], rivals=(rival,))
    monkeypatch.setattr(entries, "_scan", Scan(known, entries._scan))


class Scan:
    def __init__(self, known: dict[str, Entry], real: Any) -> None:
        self.known, self.real = known, real

    def __call__(self, group: str, path: tuple[str, ...]) -> Any:
        return self.known if group == criteria.GROUP else self.real(group, path)

    def cache_clear(self) -> None: ...


BAD = faulty(lambda s, r, n, m: s[1:])
ODD = kendall_scores


@pytest.mark.parametrize("name", ["crank", "kendall", "iauc", "spearman"])
def test_the_built_in_criteria_are_announced_too(name: str) -> None:
    assert entries.known(criteria.GROUP)[name].load() is get_criterion(name)
    assert get_criterion(f"crank-rank:{name}") is get_criterion(name)


@pytest.mark.usefixtures("installed")
def test_an_installed_criterion_grows_trees_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert criterion_names()[5:] == ["good", "bad", "odd", "lost"]
    sample = crank.datasets.regression(200, p=5, random_state=0)
    options: dict[str, Any] = {"max_depth": 2, "prune": None}
    warn_of_rival.cache_clear()
    with pytest.warns(PluginWarning, match=r"crank-good offers a criterion 'kendall' too") as told:
        crank.fit(sample.frame, "y ~ .", criterion="kendall", **options)
    wanted = crank.fit(sample.frame, "y ~ .", criterion="kendall", **options)  # once is enough
    assert "write 'crank-good:kendall' for the other" in str(told[0].message)
    assert "distribution" not in json.loads(wanted.to_json() or "")["ranker"].get("criterion", {})
    for name in ("good", "crank-good:good", "crank-good:kendall"):
        m = crank.fit(sample.frame, "y ~ .", criterion=name, **options)
        assert m.criterion == name
        np.testing.assert_array_equal(m.predict(sample.frame), wanted.predict(sample.frame))
        text = m.to_json() or ""
        assert crank.from_json(text).call == m.call
        origin = {"distribution": "crank-good", "version": "0.2"}
        stored = json.loads(text)["ranker"]["criterion"]
        assert stored == {"name": name, "because": ""} | origin
        with monkeypatch.context() as gone:
            gone.setattr(entries, "_scan", lambda group, path: {})
            gone.setattr(entries, "installed", lambda group: {})
            with pytest.raises(ModelFileError, match=r"no criterion named .* Install crank-good 0"):
                read_criterion(stored)
        with pytest.raises(ModelFileError, match=r"of other 7; here .* leads to crank-good 0\.2"):
            read_criterion(stored | {"distribution": "other", "version": "7"})
    forest = crank.forest(sample.frame, "y ~ .", criterion="good", n_trees=3)
    assert json.loads(forest.to_json() or "")["ranker"]["criterion"]["version"] == "0.2"
    again = crank.from_json(forest.to_json() or "")
    assert isinstance(again, ForestModel)
    assert again.criterion == "good"


@pytest.mark.usefixtures("installed")
def test_what_goes_wrong_in_a_plugin_is_said_to_be_the_plugins() -> None:
    sample = crank.datasets.regression(200, p=5, random_state=0)
    with pytest.raises(
        PluginError, match=r"criterion 'bad' of crank-good 0.2 gave scores of shape"
    ):
        crank.fit(sample.frame, "y ~ .", criterion="bad")
    with pytest.raises(PluginError, match=r"criterion 'odd' of crank-good 0.2 is <function"):
        get_criterion("odd")
    with pytest.raises(PluginError, match=r"criterion 'lost' of crank-good 0.2 cannot be loaded"):
        get_criterion("lost")
    raising: Any = criteria.Guarded(cast(Any, lambda r, n, m: 1 / 0), "'x' of y 1")
    with pytest.raises(PluginError, match="criterion 'x' of y 1 failed: ZeroDivisionError"):
        raising(None, None, None)
    with pytest.raises(OptionError, match=r"no criterion named 'goood'.*Did you mean 'good'"):
        get_criterion("goood")
