"""CSV files: the header is found however long it is."""

import csv
import io
from pathlib import Path

import pytest

from crank.datafiles import Expected, open_source
from crank.datafiles.csvfile import USUAL_HEADER
from crank.errors import DataError


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("length", [*range(USUAL_HEADER - 9, USUAL_HEADER + 3), 3 * USUAL_HEADER])
def test_a_header_of_any_length_is_read_as_csv_does(tmp_path: Path, length: int, end: str) -> None:
    for filler in ("a" * length, "é\n" * (length // 3)):
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
        writer.writerows([["x", filler, "z"], ["1", "2", "3"]])
        path = tmp_path / "a.csv"
        path.write_text(text.getvalue(), encoding="utf-8", newline="")
        with open_source(path, {"z": Expected("number")}, keep=[filler]) as source:
            (piece,) = (piece for piece in source.pieces if piece.n_rows)
        assert piece.data.numeric("z").tolist() == [3.0]
        assert piece.kept[filler] == ["2"]
        assert piece.where(0) == f"line {2 + filler.count(chr(10))}"


def test_a_quote_that_a_header_does_not_close_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('x,"' + "a\n" * USUAL_HEADER)
    with (
        pytest.raises(DataError, match="line 1: "),
        open_source(path, {"x": Expected("number")}) as source,
    ):
        list(source.pieces)
