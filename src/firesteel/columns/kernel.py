"""The interface between operators on columns and what runs them."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from firesteel.columns.batch import ColumnBatch

MAX_WATERMARK = 2**63 - 1
MIN_WATERMARK = -(2**63)


class StateTable(Protocol):
    """State by key, which is part of each version; the first part of a key is its key group."""

    data: MutableMapping[Any, Any]

    def put(self, entry: Any, value: Any) -> None:
        """Set a value; needed, too, where one was changed in place."""

    def remove(self, entry: Any) -> None:
        """Remove an entry if it is there."""


@dataclass
class KernelContext:
    """What a kernel knows of the subtask that it runs in.

    Attributes:
        is_streaming: Whether results are given as they change; else once, at the end of input.
        max_parallelism: The number of key groups.
        table: Gives a table of keyed state by name, restored already.
        emit: Takes results.
        emit_watermark: Takes a watermark that the kernel makes itself, between results.
        now_ms: The processing time.
        configuration: The options of the job.
        subtask_index: Which subtask this is.
        parallelism: How many there are.
        state_ttl_ms: How long state lives that is not written again (`table.exec.state.ttl`); 0: for ever.
    """

    is_streaming: bool
    max_parallelism: int
    table: Callable[[str], StateTable]
    emit: Callable[[ColumnBatch], None]
    emit_watermark: Callable[[int], None]
    now_ms: Callable[[], int]
    configuration: dict[str, str] = field(default_factory=dict)
    subtask_index: int = 0
    parallelism: int = 1
    state_ttl_ms: int = 0


class Kernel:
    """One operator on columns.

    Life: `open`, then any of the other calls, `end` once all inputs ended, `close`.
    """

    context: KernelContext

    def open(self, context: KernelContext) -> None:
        """Get ready; state was restored."""
        self.context = context

    def close(self) -> None:
        """Release what `open` took."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Take rows of input `index`."""
        raise NotImplementedError

    def watermark(self, timestamp: int) -> int | None:
        """Take a watermark (ms) before it goes on; returns the one to pass on, None: none."""
        return timestamp

    def end(self) -> None:
        """All inputs ended."""

    def advance_processing_time(self, now_ms: int) -> None:
        """Do what is due in processing time."""

    def next_processing_time(self) -> int | None:
        """Return when something is due in processing time (ms), None: never."""
        return None

    def snapshot(self) -> Any:
        """Return what `restore` needs beyond the tables, small and picklable."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Go on from a snapshot; called after `open`."""


class TimedKernel(Kernel):
    """A kernel that knows the last watermark, by which rows are late, also when it goes on from a snapshot."""

    def __init__(self) -> None:
        self._watermark = MIN_WATERMARK

    def snapshot(self) -> Any:
        """Return the watermark."""
        return self._watermark

    def restore(self, snapshot: Any) -> None:
        """Go on from that watermark."""
        self._watermark = snapshot


class KernelFactory(Protocol):
    """Plain data that makes a kernel in the subtask; travels with the job."""

    def make(self) -> Kernel:
        """Return the kernel."""
