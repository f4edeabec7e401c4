"""Blocks of a CSV file: cut anywhere, they hold its records."""

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from crank.datafiles.blocks import blocks, lines_in

FIELDS = st.text(st.sampled_from('a1.,-" \n\r'), max_size=6)


def written(field: str) -> str:
    """Put a field in quotes if it needs them; Python 3.11 leaves a lone return without."""
    quoted = '"' + field.replace('"', '""') + '"'
    return quoted if set(field) & set(',"\n\r') else field


def records(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


@given(st.lists(st.lists(FIELDS, min_size=2, max_size=2), max_size=8), st.integers(1, 40))
def test_blocks_of_random_files_hold_their_records(rows: list[list[str]], size: int) -> None:
    whole = "".join(",".join(map(written, row)) + "\n" for row in rows)
    cut = list(blocks(io.BytesIO(whole.encode()), ",", size))
    assert b"".join(block.content for block in cut).decode() == whole
    assert [row for block in cut for row in records(block.content.decode())] == rows
    assert all(block.regular and (block.quoted or b'"' not in block.content) for block in cut)
    assert sum(lines_in(block.content) for block in cut) == lines_in(whole.encode())
