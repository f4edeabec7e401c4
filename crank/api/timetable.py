"""How a blend keeps to its time: which member is not begun, and when a booster has to stop."""

from __future__ import annotations

import math
import time

from crank.api.recipes import Recipe

SEARCH = 0.75
"""Share of a booster's time for the search for rounds; then it is trained on all rows."""
DOUBT = 2.0
"""How much faster than thought a member may be: only those hopeless even then are not begun."""
ENDING, LONGEST_ENDING = 3e-5, 0.25
"""Seconds for each row to choose among members and judge the blend; at most this share of all."""


class Timetable:
    """Watch the time of a blend, if it is limited.

    What members cost was measured once; how fast this machine is at this hour is learned from
    those that are done.

    Parameters
    ----------
    rows, columns : int
        Size of the data.
    deadline : float, optional
        When all must be done, by `time.monotonic`.
    """

    def __init__(self, rows: int, columns: int, deadline: float | None = None) -> None:
        self._size = rows, columns
        self._end = math.inf
        if deadline is not None:
            all_of_it = max(0.0, deadline - time.monotonic())
            self._end = deadline - min(ENDING * rows, LONGEST_ENDING * all_of_it)
        self._begun, self._search_ends = 0.0, math.inf
        self._boosted = False
        self._thought, self._took = 0.0, 0.0

    @property
    def left(self) -> float:
        """Seconds that members may still take."""
        return self._end - time.monotonic()

    def refusal(self, recipe: Recipe) -> str:
        """Say why a member is not begun; empty if it is.

        The first booster is begun in any case and takes what is left: one that has the time it
        needs is worth more than several that are stopped early.
        """
        left = self.left
        if left <= 0.0:
            return "the time was over before its turn"
        takes = self._expected(recipe)
        if takes > DOUBT * left and (self._boosted or not recipe.stops):
            return f"it would take about {takes:.0f} s, and {left:.0f} s were left"
        return ""

    def begin(self, recipe: Recipe) -> None:
        """Take a member's turn."""
        self._begun = time.monotonic()
        self._search_ends = self._begun + SEARCH * max(0.0, self.left)
        self._boosted |= recipe.stops

    @property
    def search_ends(self) -> float | None:
        """When a booster whose turn it is must stop its search for rounds."""
        return None if math.isinf(self._end) else self._search_ends

    def done(self, recipe: Recipe) -> None:
        """Learn from what a member took, unless it had to stop early."""
        now = time.monotonic()
        if recipe.cost and not (recipe.stops and now >= self._search_ends):
            self._thought += recipe.seconds(*self._size)
            self._took += now - self._begun

    def _expected(self, recipe: Recipe) -> float:
        """Seconds that a member takes if it is as fast as those before."""
        speed = self._took / self._thought if self._thought else 1.0
        return speed * recipe.seconds(*self._size)
