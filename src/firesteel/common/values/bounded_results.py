"""Bounds of what one call of user code returns, so that a generator without end fails before it fills memory or disk.

The output of an operator is gathered until its input buffer is processed, in memory and then on disk. In Flink it would
block on backpressure, while no checkpoint completes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from firesteel.common.values.size_estimate import SizeEstimate
from firesteel.errors import FiresteelError

__all__ = ["DiskReserveError", "EndlessResultsError", "OutputReserveError", "all_of", "bounded"]

MOST_RESULTS = 1 << 30
"""Maximum number of results of one call that go on to the next operators in parts."""

MOST_BYTES = 4 << 30
"""Approximate maximum size in memory of the results of one call that are needed as a whole."""

_PART = 4096


class EndlessResultsError(FiresteelError):
    """One call of user code returns more results than can be held; the arguments are their number and the reason."""

    def __str__(self) -> str:
        count, reason = self.args
        return (
            f"one call has returned {count:,} results and has not ended: {reason}; a generator must end, and endless "
            "input needs a source"
        )


class DiskReserveError(FiresteelError):
    """Spilling would fill a disk; the arguments are directory, size of the file, free space and reserve in bytes."""

    def __str__(self) -> str:
        directory, size, free, reserve = self.args
        return (
            f"the disk of {directory} is almost full: {free:,} bytes are free and {reserve:,} must stay free, after "
            f"{size:,} bytes were spilled to this file; io.tmp.dirs sets other directories"
        )


class OutputReserveError(FiresteelError):
    """The pending output of a batch would fill a disk; the arguments are the name of the vertex and the reason."""

    def __str__(self) -> str:
        vertex, reason = self.args
        return f"the output of {vertex!r} is spilled until its input is processed, and {reason}"


def bounded(emit: Callable[[], None]) -> Callable[[int], None]:
    """Return a function that emits a part of the results of one call, which go on after it.

    Its argument is the number of results of the call so far.

    Args:
        emit: Emits the part.
    """

    def emit_part(count: int) -> None:
        if count > MOST_RESULTS:
            raise EndlessResultsError(count, f"allowed are {MOST_RESULTS:,}")
        try:
            emit()
        except OutputReserveError as error:
            raise EndlessResultsError(count, str(error)) from error

    return emit_part


def all_of(results: Iterable[Any]) -> list[Any]:
    """Return all results of one call as a list.

    Raises:
        EndlessResultsError: they do not fit into memory.
    """
    if isinstance(results, list):
        return results
    rest = iter(results)
    found = part = list(islice(rest, _PART))
    size = SizeEstimate()
    while len(part) == _PART:
        size.add(part)
        if size.bytes > MOST_BYTES:
            raise EndlessResultsError(len(found), f"they take about {size.bytes:,} bytes, allowed are {MOST_BYTES:,}")
        part = list(islice(rest, _PART))
        found += part
    return found
