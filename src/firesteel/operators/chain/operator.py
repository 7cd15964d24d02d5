"""The base class of all operators, and the flow of elements between them.

Elements flow in batches: a list of values and a list of their timestamps (ms, None: no timestamp), or None instead of
the list if no value has a timestamp. Watermarks, idleness and the end of input flow between the batches, in
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.options.pipeline_options import OBJECT_REUSE
from firesteel.common.unchanged import unchanged
from firesteel.common.values.bounded_results import OutputReserveError
from firesteel.common.values.coercion import batch_coercer, coercer, fits
from firesteel.common.values.ownership import are_immutable, own
from firesteel.common.values.whole_numbers import check_timestamp
from firesteel.operators.chain.operator_errors import USER_ERRORS, UserFunctionError

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.functions.output_tag import OutputTag
    from firesteel.operators.state.entries import Delta

MIN_TIMESTAMP = -(2**63)
MAX_WATERMARK = 2**63 - 1
"""The final watermark, emitted after all input was read."""

Timestamps = list[int | None] | None


class Receiver(Protocol):
    """A receiver of an operator's output: the next operator of the chain, or the writer of an edge."""

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements."""

    def watermark(self, timestamp: int) -> None:
        """Process a watermark (ms)."""

    def idle(self, is_idle: bool) -> None:
        """Process a change of idleness; receivers do not wait for an idle sender's watermark."""

    def end(self) -> None:
        """Process the end of input; nothing follows."""


class Output:
    """The main output and side outputs of one operator, converted to their declared types.

    Results of user code must be settled right after the call: converted to the declared type, or copied if the code
    could change them later. `hand_on` takes settled values, `emit` takes values that no user code has seen.

    Args:
        output_type: The declared type of the main output, if any.
        reuses_objects: Whether values are passed on without copies (`pipeline.object-reuse`).
    """

    def __init__(self, output_type: TypeInformation[Any] | None = None, reuses_objects: bool = False) -> None:
        self.output_type = output_type
        self.reuses_objects = reuses_objects
        self._coerce = batch_coercer(output_type)
        self._main: list[Receiver] = []
        self._sides: dict[str, list[Receiver]] = {}

    def settler(self, declared: TypeInformation[object] | None, name: str) -> tuple[str, Callable[[object], object]]:
        """Return `(source, function)`, which settle a result of a declared type.

        The source is an expression over a variable `name` that is true if the value needs no settling; the function
        settles all other values. The source refers to `ownership.IMMUTABLE` as `immutable`.
        """
        coerce = coercer(declared)
        if coerce is None and self.reuses_objects:
            return "True", unchanged
        return fits(declared, name), coerce or own

    def connect(self, receiver: Receiver, output_tag: str | None) -> None:
        """Add a receiver to the main output, or to the side output with the given tag id."""
        # Tags are compared by their ids, as in Flink: the tag in user code is unpickled and another object.
        (self._main if output_tag is None else self._sides.setdefault(output_tag, [])).append(receiver)

    @property
    def main_receivers(self) -> list[Receiver]:
        """The receivers of the main output."""
        return self._main

    @property
    def has_side_outputs(self) -> bool:
        """Whether any side output has a receiver."""
        return bool(self._sides)

    @property
    def receivers(self) -> list[Receiver]:
        """All receivers, of the main output and the side outputs."""
        return self._main + [receiver for side in self._sides.values() for receiver in side]

    def emit(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit elements to the main output."""
        if values:
            self.hand_on(values if self._coerce is None else self._coerce(values), timestamps)

    def hand_on(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit settled elements to the main output."""
        if values:
            self._hand_to(self._main, values, timestamps)

    def reads_side(self, tag: OutputTag[object]) -> bool:
        """Return whether the side output of `tag` (an OutputTag) has a receiver."""
        return tag.tag_id in self._sides

    def hand_on_side(self, tag: OutputTag[object], values: list[object], timestamps: Timestamps) -> None:
        """Emit settled elements to the side output of `tag` (an OutputTag), which must have a receiver."""
        self._hand_to(self._sides[tag.tag_id], values, timestamps)

    def _hand_to(self, receivers: list[Receiver], values: list[object], timestamps: Timestamps) -> None:
        """Pass elements to receivers; all but the last get copies of mutable values."""
        # Two receivers in one chain would see what the other one's user code makes of a value.
        shared = len(receivers) > 1 and not self.reuses_objects and not are_immutable(values)
        for receiver in receivers:
            # The last one may have the values themselves, as nobody reads them after it.
            own_values = [own(value) for value in values] if shared and receiver is not receivers[-1] else values
            receiver.process(own_values, timestamps)

    def watermark(self, timestamp: int) -> None:
        """Emit a watermark to all receivers.

        Raises:
            ValueOverflowError: user code emits a watermark outside 64 bits.
        """
        check_timestamp(timestamp)
        for receiver in self.receivers:
            receiver.watermark(timestamp)

    def idle(self, is_idle: bool) -> None:
        """Emit a change of idleness to all receivers."""
        for receiver in self.receivers:
            receiver.idle(is_idle)

    def end(self) -> None:
        """Emit the end of input to all receivers."""
        for receiver in self.receivers:
            receiver.end()


@dataclass(slots=True)
class TaskInfo:
    """The identity and settings of the subtask that an operator runs in.

    Attributes:
        key_type: The declared type of its input's key, if any.
        is_checkpoint: Whether a checkpoint follows the current batch.
        is_savepoint: Whether a savepoint follows that checkpoint.
        input_ms: The time of the job's input in ms at the start of the current batch, and at its end at the latest.
        began: Run, batch and attempt in which the subtask was created; it increases across restarts and leaders.
        output_directory: Directory on shared storage for large output to the driver; empty if there is none.
        spool_directory: Directory on this host for files that the state of sinks refers to; empty if there is none.
        last_batch: The last batch that the subtask has completed; -1 if it has not completed any.
    """

    job_id: str
    vertex_id: str
    vertex_name: str
    subtask_index: int
    parallelism: int
    max_parallelism: int
    attempt_number: int
    is_batch: bool
    configuration: dict[str, str]
    key_type: TypeInformation[Any] | None = None
    is_checkpoint: bool = True
    is_savepoint: bool = False
    input_ms: tuple[float, float] = (0.0, 0.0)
    began: tuple[int, int, int] = (0, 0, 0)
    metrics: dict[str, Any] = field(default_factory=dict)
    output_directory: str = ""
    spool_directory: str = ""
    last_batch: int = -1

    @property
    def reuses_objects(self) -> bool:
        """Whether the configuration allows values to be passed on without copies."""
        return OBJECT_REUSE.of(self.configuration)


class Operator:
    """One running operator of one subtask.

    Life cycle: `open`, `restore` if there is a version to start from, then any `process...` calls, one `end_input` per
    input, and `close`.

    Attributes:
        copies_state: Whether every subtask holds some state in full (broadcast state).
        passes_on: Whether its results are input elements, unchanged.
        description: What errors call it, if not its name.
        takes_immutable: Whether its input elements are immutable by their declared type.
        carries_state: Whether a non-empty snapshot must be restored when another job starts from it. Snapshots with
        only data of this run, such as watermarks, need not be.
    """

    carries_state = False
    copies_state = False
    passes_on = False
    takes_immutable = False

    def __init__(self, name: str, task: TaskInfo, output: Output) -> None:
        self.name = name
        self.task = task
        self.output = output
        self.watermark = MIN_TIMESTAMP
        self.description: str | None = None
        self.user_location: str | None = None
        self.operator_id = name

    def open(self) -> None:
        """Initialize the operator; called once per attempt, before anything else."""

    def close(self) -> None:
        """Release the resources that `open` acquired; also called after a failure."""

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the first input."""
        raise NotImplementedError(f"{type(self).__name__} has no input")

    def process2(self, values: list[object], timestamps: Timestamps) -> None:
        """Process elements of the second input."""
        raise NotImplementedError(f"{type(self).__name__} has one input")

    def emit_gathered(self) -> None:
        """Emit the results of the elements before the one that user code failed on; errors downstream take precedence.

        The failing element is thus the same as in Flink, which processes elements one by one.
        """

    def process_watermark(self, timestamp: int) -> None:
        """Advance event time and emit the watermark."""
        self.watermark = timestamp
        self.output.watermark(timestamp)

    def process_idle(self, is_idle: bool) -> None:
        """Process a change of the combined idleness of all inputs."""
        self.output.idle(is_idle)

    def end_input(self, index: int) -> None:
        """Process the end of input `index` (0 or 1); after the last one, emit all pending results."""

    def advance_processing_time(self, now_ms: int) -> None:
        """Fire the processing-time work that is due."""

    def next_processing_time(self) -> int | None:
        """Return the time in ms at which `advance_processing_time` next has work to do, or None."""
        return None

    @property
    def awaits_checkpoint(self) -> bool:
        """Whether a checkpoint must follow even if there is no input, as a sink has something to show with it."""
        return False

    def end_batch(self) -> None:
        """Finish the batch; sinks flush the data that belongs to it."""

    def snapshot(self) -> Snapshot:
        """Return a small picklable snapshot for `restore`, without keyed state, or None if there is none."""
        return None

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the operator from a snapshot."""

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """Return the changes of keyed and broadcast state since the last version, or all of it, as `Delta`s."""
        return iter(())

    def publish_state(self, batch_id: int) -> None:
        """Let other threads see the keyed state after a batch, whose changes `state_parts` has returned."""

    def load_keyed(self, delta: Delta, key_groups: range | None = None) -> None:
        """Load a `Delta` of keyed state before `open`, restricted to some key groups if given."""

    def load_copied(self, delta: Delta) -> None:
        """Load a `Delta` of broadcast state before `open`."""

    def take_over(self, snapshots: Sequence[Any]) -> None:
        """Restore this subtask's share of the snapshots of all subtasks in another job (if `carries_state`)."""

    def committables(self) -> Sequence[Any]:
        """Return the committables of this batch and clear them."""
        return ()


class OperatorInput:
    """One input of an operator inside a chain, which attributes user code errors to the operator."""

    __slots__ = ("_index", "operator")

    def __init__(self, operator: Operator, index: int = 0) -> None:
        self.operator = operator
        self._index = index

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Pass elements to the operator."""
        operator = self.operator
        try:
            (operator.process2 if self._index else operator.process)(values, timestamps)
        except (UserFunctionError, OutputReserveError):  # `bounded` knows which call goes on
            raise
        except USER_ERRORS as error:
            # First, as `emit_gathered` calls operators downstream, whose errors are theirs.
            failure = UserFunctionError.of(error, operator)
            operator.emit_gathered()
            raise failure from error

    def watermark(self, timestamp: int) -> None:
        """Pass a watermark to the operator."""
        with_operator_named(self.operator, self.operator.process_watermark, timestamp)

    def idle(self, is_idle: bool) -> None:
        """Pass a change of idleness to the operator."""
        self.operator.process_idle(is_idle)

    def end(self) -> None:
        """End the operator's only input, and then its output."""
        with_operator_named(self.operator, self.operator.end_input, 0)
        self.operator.output.end()


def with_operator_named(operator: Operator, call: Callable[..., object], *args: object) -> object:
    """Run `call`, and wrap an exception of user code in a `UserFunctionError` that names the operator."""
    try:
        return call(*args)
    except (UserFunctionError, OutputReserveError):
        raise
    except USER_ERRORS as error:
        raise UserFunctionError.of(error, operator) from error
