"""Log handlers of a program while a table or line of progress is on its terminal."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import TextIO

__all__ = ["TerminalLogs"]


class TerminalLogs:
    """Lets handlers that hold a stream of the terminal write to another one, until `restore()`.

    Rich moves what is written to `sys.stderr` above its display. A handler such as that of `logging.basicConfig()`
    holds the stream that was there before, and would write into the display.

    Args:
        streams: Pairs of a stream and the one that takes its place.
    """

    def __init__(self, streams: Iterable[tuple[TextIO, TextIO]]) -> None:
        self._moved: list[tuple[logging.StreamHandler[TextIO], TextIO]] = []
        for before, after in streams:
            for handler in _stream_handlers():
                if before is not after and handler.stream is before:
                    handler.setStream(after)
                    self._moved.append((handler, before))

    def restore(self) -> None:
        """Give handlers their streams back."""
        while self._moved:
            handler, before = self._moved.pop()
            handler.setStream(before)


def _stream_handlers() -> Iterator[logging.StreamHandler[TextIO]]:
    named = [one for one in logging.root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    for logger in (logging.root, *named):
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler):
                yield handler
