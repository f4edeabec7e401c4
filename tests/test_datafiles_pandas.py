"""Blocks of a CSV file by pandas: what Python reads, or nothing."""

import csv
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crank.datafiles import Expected
from crank.datafiles.blocks import blocks, records_in
from crank.datafiles.fields import as_column
from crank.datafiles.pandas import PandasBlocks
from crank.errors import DataError
from crank.frames.columns import Coded, Column

ODD = (
    *("", "NA", "nan", "-nan", "None", "inf", "-inf", "Infinity", "True", "false", "1_0", "0x1p3"),
    *("-0.0", "1.", ".5", "1e400", "1e-400", "1e", "+7", " 2 ", "007", "1,5", "-9", "-9.0", "\t1"),
    *("9007199254740993", "18446744073709551617", "-9223372036854775809", "2.5e-324", "٣", "é"),
    *('"', 'a"b', "a,b", "two\nlines", "\r\n", " ", "1d2", "1f", "--1", "1 2", "#N/A", "\x1a"),
)
NUMBERS = st.one_of(st.floats().map(repr), st.integers().map(str), st.sampled_from(ODD))
TEXTS = st.one_of(st.sampled_from(ODD), st.text(max_size=4))
assert pd.__version__  # small blocks are left to Python where pandas is not loaded
EXPECTED = {"x": Expected("number"), "g": Expected("text"), "b": Expected("boolean")}
POSITION = {"b": 3, "x": 0, "g": 1}


def quoted(field: str) -> str:
    return '"' + field.replace('"', '""') + '"' if set(field) & set(',"\n\r') else field


def values(column: Column) -> list[object]:
    if isinstance(column, Coded):
        return [None if code < 0 else column.levels[code] for code in column.codes]
    assert isinstance(column, np.ndarray)
    return [repr(value) for value in column.tolist()]


@given(
    st.lists(st.tuples(NUMBERS, TEXTS, TEXTS, st.sampled_from(["1", "true", "0.0", "NA", "2"]))),
    st.sampled_from([None, frozenset({"."}), frozenset({"NA", "é"}), frozenset({"-9"})]),
    st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_a_block_holds_what_python_reads(
    rows: list[tuple[str, str, str, str]], marks: frozenset[str] | None, end: str
) -> None:
    whole = "".join(",".join(map(quoted, row)) + end for row in rows).encode()
    reader = PandasBlocks(4, POSITION, EXPECTED, ["g", "x"], ",", marks)
    for block in blocks(io.BytesIO(whole), ",", len(whole) or 1):
        found = reader.columns(block.content, block.quoted)
        if found is None:
            continue
        read, kept, n = found
        text = io.StringIO(block.content.decode(), newline="")
        records = [row or [""] for row in csv.reader(text, strict=True)]
        assert n == len(records)
        for name, expected in EXPECTED.items():
            fields = [record[POSITION[name]] for record in records]
            try:
                wanted = as_column(fields, expected, name, range(n), marks)
            except DataError:
                pytest.fail(f"{fields} is no column {name}")
            if name == "g":
                assert values(read[name]) == wanted.tolist()
            else:
                assert values(read[name]) == [*map(repr, wanted.tolist())]
            if name in kept:
                assert kept[name] == fields


@pytest.mark.parametrize("size", [40, 4000])
def test_usual_blocks_are_read(size: int) -> None:
    rng = np.random.default_rng(0)
    numbers, texts = rng.normal(size=size), rng.choice(["low", "a,b", "", "NA"], size)
    rows = zip(map(repr, numbers.tolist()), map(quoted, texts), strict=True)
    content = "".join(f"{number},{text},z,1\n" for number, text in rows).encode()
    found = PandasBlocks(4, POSITION, EXPECTED, ["g"], ",", None).columns(content, True)
    assert found is not None
    read, kept, n = found
    assert n == size
    np.testing.assert_array_equal(read["x"], numbers)
    assert values(read["g"]) == [None if text in ("", "NA") else text for text in texts]
    assert kept == {"g": texts.tolist()}


def test_blocks_of_kept_columns_alone_have_rows() -> None:
    reader = PandasBlocks(4, POSITION, {}, ["g"], ",", None)
    assert reader.columns(b"1,a,z,1\n2,b,z,0\n", False) == ({}, {"g": ["a", "b"]}, 2)
    assert PandasBlocks(4, {}, {}, [], ",", None).columns(b"1,a,z,1\n", False) == ({}, {}, 1)


FIELDS = st.text(st.sampled_from('a, "\n\r'), max_size=4)


@given(st.lists(st.lists(FIELDS, min_size=1, max_size=4), min_size=1, max_size=6), st.booleans())
def test_records_are_counted_as_csv_does(rows: list[list[str]], ended: bool) -> None:
    text = "\n".join(",".join(map(quoted, row)) for row in rows) + ("\n" if ended else ",z")
    records = [row or [""] for row in csv.reader(io.StringIO(text, newline=""), strict=True)]
    for width in range(1, 5):
        even = all(len(record) == width for record in records)
        counted = records_in(text.encode(), '"' in text, ",", width)
        assert counted == (len(records) if even else None)
