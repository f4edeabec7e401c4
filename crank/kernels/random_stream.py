"""Random numbers that follow from a key alone: the same in NumPy and in compiled code.

A node of a tree derives the keys of its children from its own, so what it draws depends on its
place and not on the order in which nodes are worked on. The mixing is that of SplitMix64 (Steele,
Lea & Flood 2014).
"""

from __future__ import annotations

STEP = 0x9E3779B97F4A7C15
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
LEFT, RIGHT = 0x632BE59BD9B4E019, 0xD1B54A32D192ED03
"""What is added to a node's key for its left and its right child."""
MASK = 2**64 - 1


class Stream:
    """A stream of whole numbers.

    Parameters
    ----------
    key : int
        Of 64 bits.

    Examples
    --------
    >>> stream = Stream(0)
    >>> stream.below(10), stream.below(10)
    (8, 4)
    """

    def __init__(self, key: int) -> None:
        self.state = key & MASK

    def below(self, n: int) -> int:
        """Draw one of 0, …, n − 1."""
        self.state = (self.state + STEP) & MASK
        return ((mixed(self.state) >> 32) * n) >> 32


def mixed(state: int) -> int:
    """Scramble 64 bits."""
    state = ((state ^ (state >> 30)) * MIX_1) & MASK
    state = ((state ^ (state >> 27)) * MIX_2) & MASK
    return state ^ (state >> 31)


def child_keys(key: int) -> tuple[int, int]:
    """Return the keys of a node's left and right child.

    Examples
    --------
    >>> len(set(child_keys(1) + child_keys(2)))
    4
    """
    return mixed((key + LEFT) & MASK), mixed((key + RIGHT) & MASK)
