"""What searches for matches know of one another where conditions are about single rows."""

from __future__ import annotations

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.match.match_searches import Searches

_BITS = 15
"""Of the number of a state in a code."""

_STATES = 4
"""In a code, which is one number."""


MAX_STATES = (1 << _BITS) - 1


class Memory:
    """The states in which searches were at rows: a search that is in the same ones finds what the other one finds.

    So a row is looked at a few times, however many searches begin before it and find nothing.

    Args:
        rows: The number of rows.
    """

    def __init__(self, rows: int) -> None:
        self._codes = np.zeros(rows + 1, np.int64)  # 0 for none; by next row
        self._searches = np.zeros(rows + 1, np.int64)
        self._others = np.zeros(0, np.int64)  # by search: the one that it relies on, or -1
        self._outcomes = np.zeros(0, np.int8)
        self._decided = np.zeros(0, np.int64)
        self._known = 0

    def begin(self, searches: Searches) -> None:
        """Prepare for further searches."""
        self._known = len(self._others)
        self._others = np.concatenate([self._others, np.full(len(searches.starts), -1)])

    def visit(self, searches: Searches, numbers: Array, is_first: Array, states: Array) -> Array:
        """Note the states of searches; return of which threads the search relies on another one from now on.

        Args:
            searches: The searches since `begin`.
            numbers: The search of each thread; those of one search come one after the other.
            is_first: Whether the thread is the first one of its search.
            states: The state of each thread.
        """
        firsts = np.flatnonzero(is_first)
        sizes = np.diff(firsts, append=len(numbers))
        among = np.arange(len(numbers)) - np.repeat(firsts, sizes)
        digits = np.where(among < _STATES, (states + 1) << (_BITS * np.minimum(among, _STATES - 1)), 0)
        codes = np.add.reduceat(digits, firsts)
        codes[sizes > _STATES] = 0
        owners = numbers[firsts]
        rows = searches.nexts[owners]
        relies = (codes != 0) & (self._codes[rows] == codes) & (not searches.is_exact)
        self._others[self._known + owners[relies]] = self._searches[rows[relies]]
        visits = ~relies
        self._codes[rows[visits]], self._searches[rows[visits]] = codes[visits], self._known + owners[visits]
        return np.repeat(relies, sizes)

    def settle(self, searches: Searches) -> None:
        """Let searches have the outcomes of those that they rely on, but for the rows of their matches and threads."""
        self._outcomes = np.concatenate([self._outcomes, searches.outcomes])
        self._decided = np.concatenate([self._decided, searches.decided])
        others = self._others[self._known :]  # A view: what earlier searches rely on relies on nothing.
        relying = np.flatnonzero(others >= 0)
        while ((further := self._others[others[relying]]) >= 0).any():
            # Doubling: what others rely on changes, too.
            others[relying] = np.where(further >= 0, further, others[relying])
        searches.outcomes[relying], searches.decided[relying] = (
            part[others[relying]] for part in (self._outcomes, self._decided)
        )
        searches.rely[relying] = True
