"""How often the screen of a running query shows what has arrived (Flink: `CliResultView`)."""

from __future__ import annotations

__all__ = ["RefreshInterval"]

_INTERVALS: tuple[tuple[str, float | None], ...] = (
    ("Fastest", 0.05),
    ("100 ms", 0.1),
    ("500 ms", 0.5),
    ("1 s", 1.0),
    ("5 s", 5.0),
    ("10 s", 10.0),
    ("1 min", 60.0),
    ("-", None),
)
"""Name -> seconds; None: only on request. Flink's 500 ms are 100 ms long, by mistake."""

_OF_CHANGES, _OF_TABLES, _LEAST_OF_TABLES = 0, 3, 1


class RefreshInterval:
    """The chosen interval. A table begins with a second, a changelog with the shortest one, as in Flink.

    Args:
        is_changelog: Whether changes are shown.
    """

    def __init__(self, is_changelog: bool) -> None:
        self._least = _OF_CHANGES if is_changelog else _LEAST_OF_TABLES
        self._chosen = _OF_CHANGES if is_changelog else _OF_TABLES
        self._last_s: float | None = None

    def __str__(self) -> str:
        return _INTERVALS[self._chosen][0]

    def change(self, step: int) -> None:
        """Choose the next longer (1) or shorter (-1) interval, if there is one."""
        self._chosen = max(self._least, min(self._chosen + step, len(_INTERVALS) - 1))

    def demand(self) -> None:
        """Let the next refresh be due at once."""
        self._last_s = None

    def is_due(self, now_s: float) -> bool:
        """Return whether to refresh now, which then counts as done.

        Args:
            now_s: Monotonic time.
        """
        seconds = _INTERVALS[self._chosen][1]
        is_due = self._last_s is None or (seconds is not None and now_s - self._last_s >= seconds)
        if is_due:
            self._last_s = now_s
        return is_due
