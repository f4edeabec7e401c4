"""Data files: every piece of a file is read alike, and results appear complete or not at all."""

import csv
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crank
from crank.datafiles import (
    Expected,
    check_target,
    expected_columns,
    format_of,
    open_output,
    open_source,
    read_frame,
)
from crank.datafiles import parquet as parquet_files
from crank.datafiles.ahead import ahead
from crank.datafiles.fields import MISSING_MARKS, as_column
from crank.datafiles.formats import delimiter_of
from crank.errors import DataError, MissingExtraError, OptionError
from crank.files import replaced
from crank.scoring import file_scorer, score_file

NUMBER, TEXT, BOOLEAN = Expected("number"), Expected("text"), Expected("boolean")


def pieces(path: Path, expected: dict[str, Expected], **options: Any) -> list[Any]:
    with open_source(path, expected, **options) as source:
        return list(source.pieces)


def column(table: Any, name: str) -> list[Any]:
    """Take a column as Python values, text with None where it is missing."""
    if table.kind(name) == "category" or name in ("g", "zip", "id"):
        codes, levels = table.codes(name)
        return [None if code < 0 else levels[code] for code in codes]
    return list(table.numeric(name).tolist())


def read_columns(path: Any, expected: Any, **options: Any) -> dict[str, list[Any]]:
    tables = [piece.data for piece in pieces(path, expected, **options)]
    return {name: [v for table in tables for v in column(table, name)] for name in expected}


@pytest.fixture(params=["pyarrow", "pandas", "Python"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Read and write CSV files by Arrow, read them by pandas, and by Python alone."""
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
    else:
        monkeypatch.setattr("crank.datafiles.arrow.available", lambda: False)
    if request.param == "Python":
        monkeypatch.setattr("crank.datafiles.pandas.available", lambda: False)
    return str(request.param)


def test_a_column_is_read_alike_in_every_piece(tmp_path: Path, by: str) -> None:
    """The classic trap: codes that look like numbers, gaps and words that come late."""
    path = tmp_path / "new.csv"
    path.write_text("zip,n,flag\n01,1,True\n02,,false\n3,2.5,\nx,NA,1\n")
    expected = {"zip": TEXT, "n": NUMBER, "flag": BOOLEAN}
    for rows in (1, 2, 3, 4, 100):
        found = pieces(path, expected, rows=rows)
        assert [p.n_rows for p in found if p.n_rows] == [
            min(rows, 4 - s) for s in range(0, 4, rows)
        ]
        columns = read_columns(path, expected, rows=rows)
        assert columns["zip"] == ["01", "02", "3", "x"]
        np.testing.assert_array_equal(columns["n"], [1.0, np.nan, 2.5, np.nan])
        np.testing.assert_array_equal(columns["flag"], [1.0, 0.0, np.nan, 1.0])


def test_numbers_are_read_to_the_last_bit(tmp_path: Path, by: str) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.normal(size=500), rng.random(500) * 10.0 ** rng.integers(-300, 300, 500)]
    )
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(map(repr, x.tolist())) + "\n")
    np.testing.assert_array_equal(read_columns(path, {"x": NUMBER})["x"], x)
    np.testing.assert_array_equal(read_frame(path)["x"], x)


def test_marks_of_missing_values_are_those_of_pandas() -> None:
    from pandas._libs.parsers import STR_NA_VALUES

    assert MISSING_MARKS == STR_NA_VALUES


def test_a_level_that_looks_missing_is_a_level() -> None:
    known = Expected("text", frozenset({"None", "a"}))
    assert as_column(["None", "NA", "a", ""], known, "g", range(4)).tolist() == [
        "None",
        None,
        "a",
        None,
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x,g\n1,a\nabc,b\n", "column 'x' holds 'abc' in line 3"),
        ("x,g\n1_000,a\n", "column 'x' holds '1_000' in line 2"),
        ('x,g\n1,"a\nb"\nabc,b\n', "column 'x' holds 'abc' in line 4"),
        ("x,g\r\n\r\n1,a\r\nabc,b\r\n", "column 'x' holds 'abc' in line 4"),
        ("x,g\n1,a\n2,b,c\n", "line 3 has 3 fields, the header 2"),
        ("x,g\n1,a\n2\n", "line 3 has 1 fields"),
        ("x,x,g\n1,2,a\n", "2 columns of the data are called 'x'"),
        ("X,g\n1,a\n", "column 'x' of the formula is not in the data. Columns: X, g."),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ('x,g\n1,"a\n', "unexpected end of data"),
    ],
)
def test_a_broken_csv_file_is_refused_with_the_place(
    tmp_path: Path, text: str, says: str, by: str
) -> None:
    path = tmp_path / "new.csv"
    path.write_text(text)
    with pytest.raises(DataError) as caught:
        pieces(path, {"x": NUMBER, "g": TEXT}, rows=1)
    assert says in str(caught.value)


def test_a_word_that_is_neither_true_nor_false_is_refused(tmp_path: Path, by: str) -> None:
    path = tmp_path / "new.csv"
    path.write_text("flag\nTRUE\nmaybe\n")
    with pytest.raises(DataError, match=r"'maybe' in line 3.*needs true or false"):
        pieces(path, {"flag": BOOLEAN})


def test_other_encodings_packed_files_and_delimiters(tmp_path: Path, by: str) -> None:
    text = "größe\tg\n1,5\ta\n"
    (tmp_path / "new.tsv.gz").write_bytes(gzip.compress(("\ufeff" + text).encode()))
    data = read_columns(tmp_path / "new.tsv.gz", {"größe": TEXT})
    assert data["größe"] == ["1,5"]
    (tmp_path / "latin.csv").write_bytes("größe\n1\n".encode("latin-1"))
    with pytest.raises(DataError, match="UTF-8"):
        read_columns(tmp_path / "latin.csv", {"größe": NUMBER})
    (tmp_path / "cut.csv.gz").write_bytes(gzip.compress(b"x\n" + b"1\n" * 9999)[:-20])
    for read in (lambda p: read_columns(p, {"x": NUMBER}), read_frame):
        with pytest.raises(DataError):
            read(tmp_path / "cut.csv.gz")
    (tmp_path / "semi.csv").write_text("x;y\n1;2\n")
    assert read_columns(tmp_path / "semi.csv", {"y": NUMBER}, delimiter=";")["y"] == [2.0]
    assert delimiter_of("a.tab") == "\t"
    with pytest.raises(OptionError, match="one character"):
        delimiter_of("a.csv", ";;")
    with pytest.raises(OptionError, match=r"a\.xlsx.*Allowed: \.csv"):
        format_of("a.xlsx")


def test_quoted_fields_and_blank_lines(tmp_path: Path, by: str) -> None:
    path = tmp_path / "new.csv"
    path.write_text('g,x\n"a, ""b""\nc",1\n\nd,2\n\n')
    (piece,) = [p for p in pieces(path, {"g": TEXT, "x": NUMBER}, keep=["g"]) if p.n_rows]
    assert column(piece.data, "g") == ['a, "b"\nc', None, "d", None]
    assert [piece.where(k) for k in range(4)] == ["line 2", "line 4", "line 5", "line 6"]
    assert piece.kept == {"g": ['a, "b"\nc', "", "d", ""]}


def test_a_file_without_rows_has_one_empty_piece(tmp_path: Path, by: str) -> None:
    path = tmp_path / "new.csv"
    path.write_text("x,g\n")
    (piece,) = pieces(path, {"x": NUMBER}, keep=["g"])
    assert piece.n_rows == 0
    assert piece.data.numeric("x").dtype == np.float64


def test_a_fit_reads_what_looks_like_numbers_as_text_if_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("zip,x\n01,1\n02,2\n")
    assert read_frame(path)["zip"].tolist() == [1, 2]
    assert read_frame(path, text=["zip"])["zip"].tolist() == ["01", "02"]
    with pytest.raises(DataError, match="'zipp' is not in the data"):
        read_frame(path, text=["zipp"])
    path.write_text("")
    with pytest.raises(DataError, match="is empty"):
        read_frame(path)
    path.write_text("a,b\n1,2\n1,2,3\n")
    with pytest.raises(DataError, match="cannot be read as CSV"):
        read_frame(path)


def test_what_a_model_expects_follows_its_levels(toy: pd.DataFrame) -> None:
    toy = toy.assign(
        code=pd.Categorical(np.arange(len(toy)) % 3),
        yes=pd.Categorical(np.arange(len(toy)) % 2 == 0),
        n=np.arange(len(toy)) % 4,
    )
    m = crank.fit(toy, "y ~ x1 + g + flag + code + yes + C(n) + code:g", max_depth=2, prune=None)
    found = expected_columns(m.design, others=m.response.variables)
    assert {name: column.type for name, column in found.items()} == {
        "x1": "number",
        "g": "text",
        "flag": "boolean",
        "code": "number",
        "yes": "boolean",
        "n": "number",
        "y": "number",
    }
    assert found["g"].texts == {"a", "b", "c"}


@pytest.fixture(params=["pyarrow", "polars"])
def parquet_engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip(request.param)
    monkeypatch.setattr(parquet_files, "engine", lambda: request.param)
    monkeypatch.setattr("crank.datafiles.output.engine", lambda: request.param)
    return str(request.param)


def test_parquet_comes_in_pieces_in_order(tmp_path: Path, parquet_engine: str) -> None:
    path = tmp_path / "new.parquet"
    n = 1000
    frame = pl.DataFrame({"id": np.arange(n), "x": np.arange(n) / 7, "g": ["a", "b"] * (n // 2)})
    frame.write_parquet(path, row_group_size=137)
    for rows in (100, 137, 2**62):
        with open_source(path, {"x": NUMBER, "g": TEXT}, keep=["id"], rows=rows) as source:
            assert source.n_rows == n
            found = list(source.pieces)
        assert max(p.n_rows for p in found) <= rows
        tables = [crank.frames.table.Table.read(p.data) for p in found]
        np.testing.assert_array_equal(np.concatenate([t.numeric("x") for t in tables]), frame["x"])
        np.testing.assert_array_equal(
            np.concatenate([np.asarray(p.kept["id"]) for p in found]), frame["id"]
        )
    with pytest.raises(DataError, match=r"'z' of the formula is not in the data\. Columns: id, x"):
        pieces(path, {"z": NUMBER})
    frame.head(0).write_parquet(path)
    (piece,) = pieces(path, {"x": NUMBER}, keep=["g"])
    assert piece.n_rows == 0
    assert len(read_frame(path)) == 0
    path.write_bytes(b"PAR1 nonsense")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        pieces(path, {"x": NUMBER})
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_frame(path)
    with pytest.raises(FileNotFoundError):
        pieces(tmp_path / "none.parquet", {"x": NUMBER})


def test_parquet_is_written_piece_by_piece(tmp_path: Path, parquet_engine: str) -> None:
    target = tmp_path / "out.parquet"
    with open_output(target) as out:
        out.write({"id": ["07", "x"], "score": np.array([1.0, 2.0])})
        out.write({"id": [], "score": np.array([])})
        out.write({"id": ["08"], "score": np.array([0.1])})
    found = pl.read_parquet(target)
    assert found.to_dict(as_series=False) == {"id": ["07", "x", "08"], "score": [1.0, 2.0, 0.1]}
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]

    def interrupted() -> None:
        with open_output(target) as out:
            out.write({"id": ["1"], "score": np.array([1.0])})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert pl.read_parquet(target).equals(found)
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]


def test_parquet_without_a_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_files, "find_spec", lambda _: None)
    (tmp_path / "a.parquet").write_bytes(b"")
    for attempt in (
        lambda: read_frame(tmp_path / "a.parquet"),
        lambda: pieces(tmp_path / "a.parquet", {"x": NUMBER}),
        lambda: open_output(tmp_path / "b.parquet").__enter__(),
    ):
        with pytest.raises(MissingExtraError, match="pip install pyarrow"):
            attempt()
    assert [p.name for p in tmp_path.iterdir()] == ["a.parquet"]


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.csv.gz"])
def test_csv_reads_back_bit_for_bit(tmp_path: Path, name: str, by: str) -> None:
    rng = np.random.default_rng(0)
    target = tmp_path / name
    x = rng.normal(size=100)
    with open_output(target) as out:
        out.write({"id": ["a,b", 'c"d'], "x": x[:2]})
        out.write({"id": ["\t"] * 98, "x": x[2:]})
    back = read_columns(target, {"id": TEXT, "x": NUMBER})
    np.testing.assert_array_equal(back["x"], x)
    assert back["id"][:3] == ["a,b", 'c"d', "\t"]


@pytest.mark.parametrize("repeats", [1, 3])
def test_numbers_are_written_as_python_writes_them(tmp_path: Path, by: str, repeats: int) -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(-(2**63), 2**63, 3_000).view(np.float64)
    edges = [0.0, -0.0, 1e-4, np.nextafter(1e-4, 0), 1e9, 1e16, 5e-324, np.inf, -np.inf, np.nan]
    scaled = rng.normal(size=3_000) * 10.0 ** rng.integers(-6, 18, 3_000)
    whole = rng.integers(-(10**6), 10**6, 500).astype(float)
    values = np.tile(np.concatenate([bits[bits == bits], edges, scaled, whole]), repeats)
    whole_numbers, single = rng.integers(-(2**62), 2**62, 50), scaled.astype(np.float32)
    for column in (values, values[:0], whole_numbers, single):
        with open_output(tmp_path / "x.csv") as out:
            out.write({"x": column})
        lines = (tmp_path / "x.csv").read_text().split("\n")
        assert lines == ["x", *map(repr, column.tolist()), ""]


def test_a_file_that_fails_half_way_leaves_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")

    def fail() -> None:
        with open_output(target) as out:
            out.write({"x": [1.0]})
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        fail()
    assert target.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.csv"]
    with replaced(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"


def test_targets_are_checked_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        check_target(tmp_path)
    with pytest.raises(FileNotFoundError, match="No such folder"):
        check_target(tmp_path / "none" / "a.csv")
    check_target(tmp_path / "a.csv")
    check_target("-")


FILES = [
    "x,g\n1,a\n2,b\n",
    "x,g\n1,a\n2,b",
    "x,g\r\n1,a\r\n2,b\r\n",
    "x,g\r1,a\r2,b\r",
    'x,g\n1,"a\n\n""b"", c"\n2,""\n3,"\r\n"\n',
    'x,g\n"1","a"\n"2","b"',
    'x,g\n1,5" pipe\n2,12"\n3,"q"\n4,"two\nlines"\n5,6"\n',
    'x,g\n1,a"b"c\n2,"d"\n',
    'x,g\n\n1,a\n\n\n2,"b\n"\n\n',
    "x,g\n+1.5,a\n 2 ,b\n-inf,c\n1e3,NA\n",
    "x\n1\n\n3\n",
    'g\na\n\n""\n',
]


@pytest.mark.parametrize("size", [1, 3, 7, 4096])
@pytest.mark.parametrize("text", FILES)
def test_blocks_of_any_size_hold_the_records_that_csv_reads(
    tmp_path: Path, text: str, size: int, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle is Python's csv module on the whole text."""
    monkeypatch.setattr("crank.datafiles.csvfile.SIZE", size)
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode())
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    rows = [row or [""] * len(header) for row in rows]
    names = [name for name in ("x", "g") if name in header]
    expected = {name: {"x": NUMBER, "g": TEXT}[name] for name in names}
    found = read_columns(path, expected)
    kept = pieces(path, {}, keep=names)
    reader = csv.reader(io.StringIO(text, newline=""))
    ends = [reader.line_num for _ in reader]
    where = [piece.where(k) for piece in kept for k in range(piece.n_rows)]
    assert where == [f"line {end + 1}" for end in ends[:-1]]
    for j, name in enumerate(header):
        wanted = [row[j] for row in rows]
        assert [field for piece in kept for field in piece.kept[name]] == wanted
        if name == "g":
            assert found["g"] == [None if v in MISSING_MARKS else v for v in wanted]
        else:
            np.testing.assert_array_equal(found["x"], [float(v or "nan") for v in wanted])


def test_a_kept_column_that_the_model_reads_stands_as_it_is(tmp_path: Path, by: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,g\n1.50,NA\n2e0,b\n")
    (piece,) = pieces(path, {"x": NUMBER, "g": TEXT}, keep=["g", "x"])
    assert piece.kept == {"g": ["NA", "b"], "x": ["1.50", "2e0"]}
    assert piece.data.numeric("x").tolist() == [1.5, 2.0]


def test_marks_of_missing_values_can_be_chosen(tmp_path: Path, by: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,g\n1,NA\n.,\n,.\n")
    found = read_columns(path, {"x": NUMBER, "g": TEXT}, marks=frozenset({"."}))
    np.testing.assert_array_equal(found["x"], [1.0, np.nan, np.nan])
    assert found["g"] == ["NA", None, None]
    frame = read_frame(path, marks=frozenset({"."}))
    assert frame["g"].fillna("-").tolist() == ["NA", "-", "-"]
    assert frame["x"].tolist()[0] == 1.0
    with pytest.raises(DataError, match="'NA' in line 2"):
        read_columns(path, {"g": NUMBER}, marks=frozenset({"."}))


def test_a_record_without_an_end_is_refused(
    tmp_path: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crank.datafiles.blocks.LARGEST", 1000)
    monkeypatch.setattr("crank.datafiles.csvfile.SIZE", 100)
    path = tmp_path / "a.csv"
    path.write_text('x,g\n1,a\n2,"' + "b\n" * 2000)
    with pytest.raises(DataError, match=r"line 3: a record does not end"):
        pieces(path, {"x": NUMBER})


MARKED = "x,g\n1,a\n\nNA,b\n-nan,c\nNULL,d\n\n2.5,e\n1.#IND,f\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 9, 20, 4096])
def test_scores_of_a_file_in_pieces_are_those_of_its_rows(
    tmp_path: Path, size: int, end: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle is predict, one row at a time, of what Python's csv module reads."""
    monkeypatch.setattr("crank.datafiles.csvfile.SIZE", size)
    x = np.arange(60.0)
    model = crank.fit({"x": x % 7, "y": x % 7}, "y ~ x", max_depth=3, prune=None)
    model.to_json(tmp_path / "m.json")
    for text in (MARKED, MARKED + '3,"two\nlines"\n\n4,"q, ""r"""\n', MARKED + "5,a\n" * 40):
        path, out = tmp_path / "a.csv", tmp_path / "out.csv"
        path.write_bytes(text.replace("\n", end).encode())
        _, *rows = csv.reader(io.StringIO(text, newline=""))
        fields = [row[0] if row else "" for row in rows]
        numbers = [float("nan") if v in MISSING_MARKS else float(v) for v in fields]
        score_file(file_scorer(tmp_path / "m.json"), path, out, rows=3, show=False)
        wanted = [repr(float(model.predict({"x": [v]})[0])) for v in numbers]
        assert out.read_text().splitlines() == ["score", *wanted]


@pytest.mark.parametrize("size", [9, 4096])
def test_the_first_wrong_field_of_the_file_is_named(
    tmp_path: Path, size: int, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crank.datafiles.csvfile.SIZE", size)
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "1\n\nNA\n" * 5 + "one\n" + "2\n" * 9 + "two\n")
    with pytest.raises(DataError, match="'one' in line 17"):
        pieces(path, {"x": NUMBER})


def test_what_was_read_before_a_failure_comes_before_it() -> None:
    def items() -> Iterator[int]:
        yield from (1, 2, 3)
        raise DataError("broken")

    found = ahead(items(), 2)
    assert [next(found), next(found), next(found)] == [1, 2, 3]
    with pytest.raises(DataError, match="broken"):
        next(found)
