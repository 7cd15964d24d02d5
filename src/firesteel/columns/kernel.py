"""The interface between columnar operators (kernels) and the subtask that runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.evaluation_context import CallAll, no_async_calls
from firesteel.common.idle_timer import InputTime

if TYPE_CHECKING:
    from firesteel.columns.runs.run_store import Spill
    from firesteel.columns.state_layout import Layout
    from firesteel.common.encoding.entry_columns import ColumnSource
    from firesteel.common.snapshots import Snapshot

P = TypeVar("P")

MAX_WATERMARK = 2**63 - 1
MIN_WATERMARK = -(2**63)


class StateTable(Protocol):
    """Keyed state, which is part of each checkpointed version; the first part of a key is its key group.

    Attributes:
        data: The entries and their values.
        source: Further entries that the kernel keeps as columns itself.
    """

    data: MutableMapping[Any, Any]
    source: ColumnSource | None

    def prefetch(self, entries: Iterable[object]) -> None:
        """Read the values of entries that are going to be asked for together, if they are on disk."""

    def put(self, entry: object, value: object) -> None:
        """Set a value. Call it also after changing a value in place, so that the change is recorded."""

    def put_all(self, entries: Sequence[object], values: Sequence[object]) -> None:
        """Set the values of entries."""

    def append(self, entry: object, elements: list[Cell]) -> None:
        """Add to the list of an entry, and keep this one if there is none; a version has what was added."""

    def remove(self, entry: object) -> None:
        """Remove an entry if it exists."""


@dataclass
class KernelContext:
    """The environment of a kernel in its subtask.

    Attributes:
        is_streaming: Whether results are emitted as they change, instead of once at the end of input.
        max_parallelism: The number of key groups.
        table: Returns the keyed state table with a name; its state has been restored.
        emit: Emits results.
        emit_watermark: Emits a watermark that the kernel generates, in order with the results.
        now_ms: Returns the processing time.
        configuration: The options of the job.
        subtask_index: The index of the subtask.
        parallelism: The number of subtasks.
        state_ttl_ms: The time to live of state since its last write (`table.exec.state.ttl`); 0 means no expiry.
        new_spill: Returns where state that a kernel keeps as columns goes beyond memory; None if state is in memory.
        watermark_ms: Returns the operator's watermark, or None before the first one.
        function_context: The context that is passed to `open` of user functions.
        call_all: Calls an asynchronous function for several rows, see `EvaluationContext`.
        emit_idle: Marks the subtask as idle (True), so that receivers do not wait for its watermarks, or as active.
        input_ms: Returns the time of the job's input, see `IdleTimer`.
        counter: Registers a counter among the metrics of the operator, and returns what adds to it.
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
    new_spill: Callable[[], Spill] | None = None
    watermark_ms: Callable[[], int | None] = lambda: None
    function_context: object = None
    call_all: CallAll = no_async_calls
    emit_idle: Callable[[bool], None] = lambda is_idle: None
    input_ms: InputTime = lambda: (0.0, 0.0)
    counter: Callable[[str], Callable[[int], None]] = lambda name: lambda count: None

    @property
    def is_state_on_disk(self) -> bool:
        """Whether the state tables are on disk, so that state may be larger than memory."""
        return self.new_spill is not None

    def spill(self) -> Spill | None:
        """Return a place for columns beyond memory, or None if state is in memory."""
        return None if self.new_spill is None else self.new_spill()


class LateRows:
    """Counts the rows that a kernel drops as late, under the name that Flink's operators give the metric.

    Args:
        context: The environment of the kernel.
        of: The input of an operator that counts for each of two: `left` or `right`.

    Attributes:
        count: The number of rows.
    """

    def __init__(self, context: KernelContext, of: str = "") -> None:
        self.count = 0
        self._add = context.counter(f"{of}NumLateRecordsDropped" if of else "numLateRecordsDropped")

    def add(self, count: int) -> None:
        """Count rows."""
        self.count += count
        self._add(count)

    def with_time(self, batch: ColumnBatch, time: int) -> ColumnBatch:
        """Return the rows that have a time, and count the others.

        Outer joins may leave NULL in a time attribute. Flink reads 0 there, which most of its operators take for late.
        """
        rows = batch.without_nulls(time)
        if rows.length < batch.length:
            self.add(batch.length - rows.length)
        return rows


class Kernel:
    """A columnar operator.

    Life cycle: `open`, `restore` or `take_over` if there are snapshots, any of the other calls, `end` once all inputs
    have ended, and `close`.

    Attributes:
        carries_state: Whether another job that starts from a savepoint takes the snapshots over.
    """

    context: KernelContext
    carries_state = False

    def open(self, context: KernelContext) -> None:
        """Prepare to process batches; the state tables have been restored."""
        self.context = context

    def close(self) -> None:
        """Release the resources that `open` acquired."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Process a batch of input `index`."""
        raise NotImplementedError

    def watermark(self, timestamp: int) -> int | None:
        """Process a watermark (ms) and return the one to forward, or None to forward none."""
        return timestamp

    def end_input(self, index: int) -> None:
        """Note that input `index` is complete; called for the last one, too, before `end`."""

    def end(self) -> None:
        """Emit what is left after all inputs have ended."""

    def advance_processing_time(self, now_ms: int) -> None:
        """Perform what is due at this processing time."""

    def next_processing_time(self) -> int | None:
        """Return the time (ms) of the next action in processing time, or None."""
        return None

    def end_batch(self) -> None:
        """Perform what is due at the end of a batch of the job."""

    def flush(self) -> None:
        """Write what is not in the tables yet; called before each version."""

    def snapshot(self) -> Snapshot:
        """Return the small picklable state that `restore` needs in addition to the tables."""
        return None

    def restore(self, snapshot: Snapshot) -> None:
        """Restore a snapshot; called after `open`."""

    def take_over(self, snapshots: Sequence[Snapshot]) -> None:
        """Take over what is needed of the snapshots of all subtasks of an earlier job; called after `open`."""


class PlannedKernel(Kernel, Generic[P]):
    """A kernel that is made of its plan alone."""

    def __init__(self, plan: P) -> None:
        self._plan = plan


class TimedKernel(Kernel):
    """A kernel that snapshots the last watermark, which decides which rows are late."""

    def __init__(self) -> None:
        self._watermark = MIN_WATERMARK

    def snapshot(self) -> Snapshot:
        """Return the watermark."""
        return self._watermark

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the watermark."""
        self._watermark = snapshot


class WindowKernel(TimedKernel):
    """A kernel of windows that are emitted once, also if another job goes on from a savepoint.

    Flink's `WindowAggOperator` likewise keeps its watermark, unlike all other operators: the state of a window that was
    emitted is gone, and a late row would make a window of its own.
    """

    carries_state = True

    def take_over(self, snapshots: Sequence[Snapshot]) -> None:
        """Go on from the watermark that was furthest, as subtasks without work stay behind.

        After the end of all input no window is left, and those of new input begin anew.
        """
        self._watermark = max((found for found in snapshots if found < MAX_WATERMARK), default=MIN_WATERMARK)

    def _advance(self, timestamp: int) -> int:
        """Return the watermark after another one, which is behind it if the sources begin anew."""
        self._watermark = max(self._watermark, timestamp)
        return self._watermark


class KernelFactory(Protocol):
    """Picklable plan of a kernel. It is shipped with the job and creates the kernel in the subtask."""

    def state_layout(self) -> Layout:
        """Return what the keyed state of the kernel consists of; a job goes on from state of the same layout only."""

    def make(self) -> Kernel:
        """Create the kernel."""
