"""Ten thousand damaged and forged model files: each is refused, or is exactly what it says."""

import copy
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import crank
from crank.errors import CrankError, ModelFileError
from crank.export.json.rules import difference
from crank.export.json.text import fingerprint
from tests.narrowing import of

pytestmark = pytest.mark.no_cover

LEARNERS = ["stump", "tree", "logistic", "svm", "lightgbm"]
BYTE_MUTATIONS, FORGERIES = 700, 500  # for each learner


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 60
    data = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "z": rng.uniform(1.0, 2.0, n),
            "g": rng.choice(["a", "b", "c"], n),
        }
    )
    data["y"] = data["x"] + np.log(data["z"]) + (data["g"] == "a") + 0.1 * rng.normal(size=n)
    return data


@pytest.fixture(scope="module")
def texts(frame: pd.DataFrame) -> dict[str, str]:
    params = {"lightgbm": {"n_estimators": 2, "num_leaves": 3}, "tree": {"max_depth": 2}}
    found = {}
    for learner in LEARNERS:
        m = crank.fit(
            frame,
            "y ~ x + log(z) + g + x:g",
            learner=learner,
            learner_params=params.get(learner),
            max_depth=2,
            min_samples_leaf=8 if learner != "svm" else 20,
            cv=3,
            prune="cv" if learner == "stump" else None,
        )
        found[learner] = m.to_json()
    return found


def damaged(raw: bytes, rng: np.random.Generator) -> bytes:
    """Change, cut or shuffle some bytes."""
    at = int(rng.integers(len(raw)))
    end = min(len(raw), at + int(rng.integers(1, 40)))
    match rng.integers(8):
        case 0:
            return raw[:at]
        case 1:
            return raw[:at] + bytes([raw[at] ^ (1 << int(rng.integers(8)))]) + raw[at + 1 :]
        case 2:
            return raw[:at] + raw[end:]
        case 3:
            return raw[:end] + raw[at:]
        case 4:
            return raw[:at] + bytes(rng.integers(0, 256, 3, dtype=np.uint8)) + raw[at:]
        case 5:
            digits = [i for i in range(at, end) if raw[i : i + 1].isdigit()] or [at]
            return raw[: digits[0]] + b"%d" % rng.integers(10) + raw[digits[0] + 1 :]
        case 6:
            other = int(rng.integers(len(raw)))
            return raw[:at] + raw[other : other + end - at] + raw[end:]
        case _:
            tokens = [b"NaN", b"1e999", b"-1", b"null", b"{", b"]", b'"', b"9" * 30, b",", b"true"]
            return raw[:at] + tokens[int(rng.integers(len(tokens)))] + raw[end:]


@pytest.mark.parametrize("learner", LEARNERS)
def test_damage_never_goes_unnoticed(texts: dict[str, str], learner: str) -> None:
    good = texts[learner]
    rng = np.random.default_rng(LEARNERS.index(learner))
    refused = 0
    for _ in range(BYTE_MUTATIONS):
        try:
            back = crank.from_json(damaged(good.encode(), rng))
        except ModelFileError:
            refused += 1
        else:
            assert back.to_json() == good  # a change of layout, or none
    assert refused > 0.9 * BYTE_MUTATIONS


def places(value: dict[str, Any] | list[Any], found: list[Any] | None = None) -> list[Any]:
    """List every (container, key) of a document."""
    found = [] if found is None else found
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        found.append((value, key))
        if isinstance(item, dict | list):
            places(item, found)
    return found


JUNK: list[Any] = [
    None,
    True,
    False,
    "",
    "x",
    "a",
    0,
    1,
    2,
    -1,
    3,
    10**9,
    -(10**9),
    2**63,
    10**40,
    0.5,
    -0.0,
]
JUNK += [1e308, -1e308, 5e-324, [], {}, [[]], [0], [{}], {"kind": "linear"}, "__import__('os')"]


def forged(document: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """Change one to three values of a document, and stamp it with a fingerprint that fits."""
    document = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        every = places(document)
        holder, key = every[int(rng.integers(len(every)))]
        other, other_key = every[int(rng.integers(len(every)))]
        value = holder[key]
        match int(rng.integers(7)):
            case 0:
                del holder[key]
            case 1:
                holder[key] = copy.deepcopy(other[other_key])
            case 2 if isinstance(holder, list):
                holder.insert(int(rng.integers(len(holder) + 1)), copy.deepcopy(value))
            case 3 if type(value) in (int, float):
                holder[key] = value + [1, -1, 1e-9, 0.5, 1e9][int(rng.integers(5))]
            case 4 if isinstance(holder, list):
                rng.shuffle(holder)
            case 5 if isinstance(holder, dict):
                holder["x"] = value
            case _:
                holder[key] = copy.deepcopy(JUNK[int(rng.integers(len(JUNK)))])
    try:
        document["fingerprint"] = fingerprint(document)
    except ModelFileError:
        document["fingerprint"] = "sha256:" + "0" * 64
    return document


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_forged_file_is_refused_or_means_what_it_says(
    texts: dict[str, str], frame: pd.DataFrame, learner: str
) -> None:
    document = json.loads(texts[learner])
    columns = {name: frame[name].to_numpy()[:10] for name in ("x", "z", "g", "y")}
    rng = np.random.default_rng(100 + LEARNERS.index(learner))
    accepted = 0
    for _ in range(FORGERIES):
        forgery = forged(document, rng)
        try:
            back = crank.from_json(json.dumps(forgery))
        except ModelFileError:
            continue
        accepted += 1
        # nothing was read as something else: writing it again gives the same values
        del forgery["fingerprint"], forgery["crank_version"]
        forgery.pop("inputs", None)  # for whoever calls the model; made anew from what is read
        forgery["ranker"]["learner"].pop("version", None)  # who writes it again says who he is
        assert difference(forgery, json.loads(back.to_json()), "file") is None
        assert str(back)
        if accepted % 20 == 0:
            assert str(back.summary())
        with np.errstate(all="ignore"):
            try:
                score = back.predict(columns)
            except CrankError:  # another column, another unit: an error of the data
                continue
        assert np.isin(score, of(crank.TreeModel, back).tree.scores).all()
    assert accepted < 0.6 * FORGERIES
