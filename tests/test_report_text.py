"""Rules in words are true: whoever reads them sends every row to its own leaf."""

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import crank
from crank.growing.conditions import AnyOf, Sum, Values
from crank.growing.wording import BRIEF, FULL, RULES, ColumnWords, condition_text, named_columns
from tests.narrowing import present

LEVELS = ["a", "b, c", "very good", "d", "e", "f", "g", "h"]
TOKEN = re.compile(
    r"\s*(?:(?P<mark>[()&]|or\b)|(?P<missing>missing\b)|"
    r"(?P<atom>(?:\{(?:'[^']*'|[^{}'])*\}|\[[^\]]*\]|(?! or | & |[(){}\[\]]).)+))"
)


class Reader:
    """Evaluate a rule as it is written, on one row after the other."""

    def __init__(self, frame: pd.DataFrame, means: dict[str, float]) -> None:
        self.frame, self.means = frame, means

    def rows(self, text: str) -> np.ndarray:
        self.tokens = [
            (present(m.lastgroup), m[present(m.lastgroup)].strip()) for m in TOKEN.finditer(text)
        ]
        self.at = 0
        found = self.alternatives()
        assert self.at == len(self.tokens), text
        return found

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def alternatives(self) -> np.ndarray:
        found = self.conjunction()
        while self.peek() == ("mark", "or"):
            self.at += 1
            if self.peek()[0] == "missing":
                self.at += 1
                found = found | self.frame[self.column].isna().to_numpy()
            else:
                found = found | self.conjunction()
        return found

    def conjunction(self) -> np.ndarray:
        found = self.item()
        while self.peek() == ("mark", "&"):
            self.at += 1
            found = found & self.item()
        return found

    def item(self) -> np.ndarray:
        kind, text = self.peek()
        self.at += 1
        if (kind, text) == ("mark", "("):
            found = self.alternatives()
            assert self.peek() == ("mark", ")")
            self.at += 1
            return found
        assert kind == "atom", (kind, text)
        return self.atom(text)

    def atom(self, text: str) -> np.ndarray:
        if text == "all rows":
            return np.ones(len(self.frame), dtype=bool)
        if match := re.fullmatch(r"(\w+) is (not )?missing", text):
            absent = self.frame[match[1]].isna().to_numpy()
            return ~absent if match[2] else absent
        if match := re.fullmatch(r"(\w+) is (true|false)", text):
            self.column = match[1]
            return (self.frame[match[1]] == (match[2] == "true")).fillna(False).to_numpy(bool)
        if match := re.fullmatch(r"(\w+) (not )?in \{(.*)\}", text):
            self.column = match[1]
            names = [
                a or b for a, b in re.findall(r"'([^']*)'|([^,'{}]+[^,'{} ]|[^,'{} ])", match[3])
            ]
            inside = self.frame[match[1]].isin([name.strip() for name in names])
            known = self.frame[match[1]].notna()
            return (known & ~inside if match[2] else inside).to_numpy()
        if match := re.fullmatch(r"(\S+) (<=?) (\w+) (<=?) (\S+)", text):
            self.column = match[3]
            x = self.frame[match[3]].to_numpy(float)
            low, high = float(match[1]), float(match[5])
            above = x >= low if match[2] == "<=" else x > low
            return above & (x <= high if match[4] == "<=" else x < high)
        if match := re.fullmatch(r"([a-z]\w*) ([<>]=?) (\S+)", text):
            self.column = match[1]
            return compare(self.frame[match[1]].to_numpy(float), match[2], float(match[3]))
        match = present(re.fullmatch(r"(.*) ([<>]=?) (\S+)", text))
        total = np.zeros(len(self.frame))
        for sign, size, name in re.findall(r"([+-]?) ?(\d\S*) (\S+?\[.*?\]|\S+)", match[1]):
            total += float(sign + size) * self.design_column(name)
        return compare(total, match[2], float(match[3]))

    def design_column(self, name: str) -> np.ndarray:
        if match := re.fullmatch(r"(\w+)\[T\.(.*)\]", name):
            raw = self.frame[match[1]]
            x = (raw == match[2]).astype(float).where(raw.notna())
        else:
            x = self.frame[name].astype(float)
        return x.fillna(self.means[name]).to_numpy()


def compare(x: np.ndarray, sign: str, bound: float) -> np.ndarray:
    return {"<": x < bound, "<=": x <= bound, ">": x > bound, ">=": x >= bound}[sign]


def read_rules(text: str) -> tuple[list[str], dict[str, float]]:
    """Split what `rules` returns into the leaves' rules and what missing values count as."""
    *lines, last = [*text.splitlines(), ""] if "in sums count" not in text else text.splitlines()
    means = re.findall(r"(\w+(?:\[.*?\])?) as (\S+?)(?:,|$)", last)
    return [line.split(": ", 2)[2] for line in lines], {k: float(v) for k, v in means}


def sample(seed: int, n: int, gaps: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(1),
            "z": 1e6 * rng.normal(size=n),
            "g": rng.choice(LEVELS, n),
            "b": rng.random(n) < 0.5,
        }
    )
    effect = frame["g"].map({level: k / 3 for k, level in enumerate(LEVELS)})
    frame["y"] = frame["x"] + frame["b"] + effect + frame["z"] / 1e6 + rng.normal(size=n)
    frame["b"] = frame["b"].astype("boolean")
    for name in ("x", "z", "g", "b"):
        if rng.random() < 0.7:
            lost = rng.random(n) < gaps
            frame[name] = frame[name].mask(lost)
            frame["y"] += lost * rng.normal()
    return frame


@pytest.mark.parametrize("learner", ["stump", "tree", "logistic"])
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), n=st.integers(20, 90), gaps=st.sampled_from([0.0, 0.1, 0.5]))
def test_the_rows_that_meet_a_full_rule_are_the_rows_of_its_leaf(
    learner: str, seed: int, n: int, gaps: float
) -> None:
    frame = sample(seed, n, gaps)
    m = crank.fit(frame, "y ~ x + z + g + b", learner=learner, max_depth=4, prune=None)
    rules, means = read_rules(m.rules(full=True))
    # new rows as well: with gaps where training had none
    for data in (frame, sample(seed + 1, 60, 0.3)):
        data = data[data["g"].isin(frame["g"].dropna()) | data["g"].isna()]
        reader, leaf = Reader(data, means), m.predict(data, "leaf")
        for place, rule in enumerate(rules):
            np.testing.assert_array_equal(reader.rows(rule), leaf == place, err_msg=rule)


@pytest.mark.parametrize("learner", ["stump", "tree"])
@settings(max_examples=6)
@given(seed=st.integers(0, 10**6), gaps=st.sampled_from([0.0, 0.3]))
def test_rules_of_the_table_hold_on_the_training_rows(learner: str, seed: int, gaps: float) -> None:
    frame = sample(seed, 80, gaps)
    m = crank.fit(frame, "y ~ x + z + g + b", learner=learner, max_depth=4, prune=None)
    reader, leaf = Reader(frame, {}), m.predict(frame, "leaf")
    for place, rule in enumerate(m.tidy()["rule"]):
        np.testing.assert_array_equal(reader.rows(rule), leaf == place, err_msg=rule)


def test_missing_values_are_named_where_training_had_some(toy: pd.DataFrame) -> None:
    holes = toy.assign(x1=toy["x1"].mask(toy.index % 3 == 0))
    for frame, told in ((holes, True), (toy, False)):
        m = crank.fit(frame, "y ~ x1 + x2", max_depth=3, prune=None)
        assert ("x1" in m.rules()) is True
        assert ("or missing" in m.rules()) is told
        assert ("or missing" in str(m)) is told
        assert "or missing" in m.rules(full=True)
        assert not re.search(r"x2 [<>]=? \S+ or missing", m.rules())


def test_a_leaf_of_missing_values_says_so() -> None:
    y = np.arange(60.0)
    frame = pd.DataFrame({"y": y, "g": np.where(y < 20, "a", "b")}).assign(
        g=lambda d: d["g"].mask(d["y"] % 20 > 2)
    )
    m = crank.fit(frame, "y ~ g", max_depth=1, prune=None, min_samples_leaf=2)
    assert m.tidy()["rule"].tolist() == ["g is missing", "g is not missing"]


def test_booleans_and_indicators_are_said_in_words(toy: pd.DataFrame) -> None:
    frame = toy.assign(y=toy["y"] + 5 * toy["flag"])
    m = crank.fit(frame, "y ~ flag + x1", max_depth=1, prune=None)
    assert m.tidy()["rule"].tolist() == ["flag is true", "flag is false"]
    assert "flag is true" in str(m)
    frame = toy.assign(y=toy["y"] + 5 * (toy["g"] == "b"))
    m = crank.fit(frame, "y ~ g", learner="tree", max_depth=1, prune=None,
                  learner_params={"max_depth": 1})  # fmt: skip
    assert m.tidy()["rule"].tolist() == ["g in {b}", "g not in {b}"]


def test_long_lists_are_cut_for_people_and_whole_in_tables() -> None:
    rng = np.random.default_rng(0)
    levels = [f"level {k:02}" for k in range(30)]
    frame = pd.DataFrame({"g": rng.choice(levels, 600)})
    frame["y"] = frame["g"].str[-2:].astype(int) + rng.normal(size=600)
    m = crank.fit(frame, "y ~ g", max_depth=1, prune=None)
    for text in (str(m), m.rules(), str(m.summary())):
        assert re.search(r"\{level \d\d, level \d\d, level \d\d, … \d+ more\}", text)
    for text in (m.rules(full=True), m.tidy()["rule"].str.cat()):
        assert "…" not in text
        assert all(level in text for level in levels)
    assert m.nodes()["condition"].str.cat().count("level") == 30
    ax = m.plot()
    assert any("…" in text.get_text() for text in ax.texts)


def test_several_cuts_get_parentheses() -> None:
    columns = named_columns(["x", "z"])
    low = {0: Values.number("<=", 1.0, missing=False)}
    high = {0: Values.number(">", 2.0, missing=True)}
    both = AnyOf((low, high))
    assert condition_text(both, columns, FULL) == "x <= 1 or (x > 2 or missing)"
    from crank.growing.wording import joined

    other = AnyOf(({1: Values.number("<", 0.0, missing=True)},))
    text = joined([both, other], columns, FULL)
    assert text == "(x <= 1 or (x > 2 or missing)) & (z < 0 or missing)"


def test_conditions_on_one_column_are_joined_and_stay_true_of_missing_values() -> None:
    above, below = Values.number(">", 1.0, missing=True), Values.number("<=", 5.0, missing=True)
    assert condition_text(AnyOf(({0: above & below},)), named_columns(["x"]), FULL) == (
        "1 < x <= 5 or missing"
    )
    closed, open_ = Values.number(">=", 1.0, missing=False), Values.number(">", 1.0, missing=True)
    assert (closed & open_) == (open_ & closed)
    assert not (closed & open_).allows(1.0)
    assert not (closed & open_).missing


def test_sums_can_be_worked_out_by_hand_and_are_short_where_space_is() -> None:
    condition = Sum((1, 0, 2, 3), (-2.0, 0.123456789, 1.0, 1e-7), ">", 0.25, (0.0, 3.0, 0.0, 1.0))
    columns = [ColumnWords(name, missing=name == "x") for name in "xyzu"]
    assert condition_text(condition, columns, BRIEF) == "-2 y + 0.1235 x + 1 z + … 1 more > 0.25"
    assert condition_text(condition, columns, RULES) == (
        "-2 y + 0.123456789 x + 1 z + 1e-07 u > 0.25 [missing: x as 3]"
    )


def test_levels_outside_the_node_are_listed_with_the_missing_values() -> None:
    rule = crank.plugins.stump.StumpRule(0, levels=((0,), (1,)), missing_left=True)
    names, levels = ["g"], [["a", "b", "c"]]
    assert rule.describe(names, levels) == "g in {a, c} or missing"
    assert rule.describe_right(names, levels) == "g in {b}"
    assert rule.describe(names) == "g not in {1} or missing"


def test_a_split_by_gaps_alone_names_no_levels() -> None:
    """No empty list of levels on one side, and not all of them on the other."""
    rng = np.random.default_rng(0)
    level = rng.choice(["a", "b", "c"], 200).astype(object)
    level[rng.random(200) < 0.5] = None
    frame = pd.DataFrame({"h": level})
    frame["y"] = 3.0 * frame["h"].isna() + rng.normal(size=200)
    m = crank.fit(frame, "y ~ h", max_depth=1, prune=None)
    assert m.nodes()["condition"].tolist()[1:] == ["h is missing", "h is not missing"]
    assert "h is missing" in m.rules(full=True)


def test_what_has_no_standard_error_is_not_available(toy: pd.DataFrame) -> None:
    text = str(crank.fit(toy, "y ~ x1 + x2", learner="logistic", max_depth=1, prune=None).summary())
    assert "nan" not in text
    assert re.search(r"\(Intercept\) +\S+ +NA +NA +NA +\S+\n", text)
