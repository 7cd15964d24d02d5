"""Where the search goes on after a match. Flink: `AfterMatchSkipStrategy`."""

from __future__ import annotations

from firesteel.columns.cells import Array
from firesteel.columns.kernels.match.match_pattern import Groups
from firesteel.columns.kernels.match.match_threads import Taken


class Skip:
    """The rows at which the next match may start.

    Args:
        after: `("NEXT ROW",)`, `("PAST LAST ROW",)`, or `FIRST` or `LAST` with the name of a variable.
        groups: The names of the pattern.

    Attributes:
        needs_rows: Whether it depends on the rows of a match, and not on where it starts and ends alone.
    """

    def __init__(self, after: tuple[str, ...], groups: Groups) -> None:
        self._after = after
        self.needs_rows = len(after) > 1
        self._steps = groups.steps(after[1]) if len(after) > 1 else []

    def places(self, taken: Taken) -> Array:
        """Return the place at which the next match may start; of matches that `refuse` refuses, one before that."""
        match self._after[0]:
            case "NEXT ROW":
                return taken.starts + 1
            case "PAST LAST ROW":
                return taken.lasts + 1
        return taken.place(self._steps, 0, self._after[0] == "LAST")

    def refuse(self, starts: Array, places: Array) -> None:
        """Refuse matches behind which no match may start.

        Raises:
            RuntimeError: There is one.
        """
        if (places < 0).any():
            mode, name = self._after
            raise RuntimeError(f"Could not skip to {mode} {name}: the match has no row of {name}")
        if (places <= starts).any():
            raise RuntimeError("Could not skip to first element of a match.")
