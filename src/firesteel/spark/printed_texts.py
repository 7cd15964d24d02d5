"""What jobs have printed: kept beside the JobManager's standard output, so that clients elsewhere can read it."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque

__all__ = ["PrintedTexts"]

_MOST_CHARACTERS = 1 << 20
"""How much of a job's text is kept: its end."""

_MOST_AT_ONCE = 256 << 10
_MOST_ENDED = 50


class _Text:
    """The end of what one job has printed."""

    def __init__(self) -> None:
        self.pieces: deque[str] = deque()
        self.start = 0
        self.size = 0

    def append(self, piece: str) -> None:
        excess = len(piece) - _MOST_CHARACTERS
        if excess > 0:  # What a batch prints is one piece, of any size.
            self.start += self.size + excess
            self.pieces.clear()
            self.size = 0
            piece = piece[excess:]
        self.pieces.append(piece)
        self.size += len(piece)
        while self.size - len(self.pieces[0]) >= _MOST_CHARACTERS:
            dropped = len(self.pieces.popleft())
            self.start += dropped
            self.size -= dropped

    def after(self, offset: int) -> tuple[int, str]:
        if not self.start <= offset <= self.start + self.size:
            offset = self.start
        skipped, found, length = offset - self.start, [], 0
        for piece in self.pieces:
            if skipped >= len(piece):
                skipped -= len(piece)
                continue
            found.append(piece[skipped:])
            length += len(found[-1])
            skipped = 0
            if length >= _MOST_AT_ONCE:
                break
        return offset, "".join(found)[:_MOST_AT_ONCE]


class PrintedTexts:
    """The ends of what running jobs and the last ended ones have printed; thread-safe.

    Args:
        ended: How many ended jobs are kept, at most 50.

    Example:
        >>> printed = PrintedTexts()
        >>> printed.add("job", "1> a")
        >>> printed.after("job", 3)
        (3, 'a')
    """

    def __init__(self, ended: int = _MOST_ENDED) -> None:
        self._texts: dict[str, _Text] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._most_ended = min(ended, _MOST_ENDED)
        self._lock = threading.Lock()

    def add(self, job_id: str, text: str) -> None:
        """Add what a job prints."""
        with self._lock:
            self._texts.setdefault(job_id, _Text()).append(text)

    def end(self, job_id: str) -> None:
        """Note that a job has ended: the texts of those that ended first are dropped."""
        with self._lock:
            self._ended[job_id] = None
            while len(self._ended) > self._most_ended:
                dropped, _ = self._ended.popitem(last=False)
                self._texts.pop(dropped, None)

    def after(self, job_id: str, offset: int) -> tuple[int, str]:
        """Return text of a job from an offset on, and the offset at which it begins.

        Args:
            job_id: The job.
            offset: The number of characters that the client has; where these are not kept, the text begins elsewhere.
        """
        with self._lock:
            text = self._texts.get(job_id)
            return (0, "") if text is None else text.after(offset)
