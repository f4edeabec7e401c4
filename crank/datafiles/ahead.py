"""Blocks of a CSV file in order, the next ones parsed in threads while one is worked on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from crank.datafiles.blocks import BYTE_ORDER_MARK, Block, lines_in
from crank.errors import DataError
from crank.frames.columns import Column
from crank.kernels.threads import count

MOST_THREADS = 8
"""Each holds a block, so they bound the memory."""
Item = TypeVar("Item")
BlockColumns: TypeAlias = tuple[dict[str, Column], dict[str, Any], int]
"""The model's columns, those to keep, and the number of rows."""


class BlockReader(Protocol):
    """A library's reader of blocks."""

    def columns(self, content: bytes, quoted: bool) -> BlockColumns | None:
        """Read a block of whole records; None where Python must read it."""


class Parsed(NamedTuple):
    """A block, the line that it begins in, and its columns; None where Python must read it."""

    block: Block
    line: int
    columns: BlockColumns | None


def parsed(cut: Iterator[Block], reader: BlockReader | None, line: int) -> Iterator[Parsed]:
    """Let a library parse blocks, a thread for each of a few.

    Threads of Arrow's own would share a block instead, which takes more time of the cores.

    Parameters
    ----------
    cut : iterator of Block
        Only the last may be irregular: it is read on in the file itself.
    reader : BlockReader, optional
        Without one, Python must read them all.
    line : int
        Number of the first block's first line in the file, counted from 1.
    """
    threads = min(count(-1), MOST_THREADS)
    with ThreadPoolExecutor(threads) as pool:
        begun = _begun(cut, reader, pool)
        try:
            for block, task in ahead(begun, 0 if reader is None else threads):
                columns = None if task is None else task.result()
                yield Parsed(block, line, columns)
                if columns is None or block.quoted:
                    line += lines_in(block.content)
                else:
                    line += columns[2]  # a record is a line
        except DataError as error:
            raise DataError(f"line {line}: {error}") from None


def _begun(
    cut: Iterator[Block], reader: BlockReader | None, pool: ThreadPoolExecutor
) -> Iterator[tuple[Block, Future[BlockColumns | None] | None]]:
    for block in cut:
        # libraries drop the mark, which is text anywhere but at the start of the file
        marked = block.content.startswith(BYTE_ORDER_MARK)
        if reader is None or not block.regular or marked:
            yield block, None
        else:
            yield block, pool.submit(reader.columns, block.content, block.quoted)


def ahead(items: Iterator[Item], most: int) -> Iterator[Item]:
    """Take a few items before they are needed; a failure comes in its turn.

    Examples
    --------
    >>> taken = []
    >>> items = ahead((taken.append(k) or k for k in range(5)), 2)
    >>> next(items), taken
    (0, [0, 1, 2])
    >>> [*items]
    [1, 2, 3, 4]
    """
    held: deque[Item] = deque()
    failure = None
    while failure is None:
        try:
            held.append(next(items))
        except StopIteration:
            break
        except Exception as error:  # of reading; what was read before comes first
            failure = error
        if len(held) > most:
            yield held.popleft()
    yield from held
    if failure is not None:
        raise failure
