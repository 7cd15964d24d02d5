"""The base of all operators, and how elements get from one to the next.

Elements flow in batches: a list of values and a list of their timestamps (milliseconds, None: no timestamp), or None
instead of the list where no value has one. Watermarks, idleness and the end of input flow between the batches, in
order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from firesteel.common.coercion import batch_coercer, coercer, fits
from firesteel.common.ownership import are_immutable, own
from firesteel.operators.errors import UserFunctionError

MIN_TIMESTAMP = -(2**63)
MAX_WATERMARK = 2**63 - 1
"""The watermark that says: all input was read."""

Timestamps = list[int | None] | None


class Receiver(Protocol):
    """Takes what an operator emits: the next operator of the chain, or the writer of an edge."""

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Take elements."""

    def watermark(self, timestamp: int) -> None:
        """Take a watermark (milliseconds)."""

    def idle(self, is_idle: bool) -> None:
        """Take a change of idleness: nobody should wait for an idle sender's watermark."""

    def end(self) -> None:
        """Take the end of input: nothing follows."""


class Output:
    """Where one operator emits to: main output and side outputs, converted to their declared types.

    What user code returns must be settled right after the call: converted to the declared type, or copied where the
    code could change it later. `hand_on` takes settled values, `emit` those that no user code has seen.

    Args:
        output_type: The declared type of the main output, if any.
        reuses_objects: Whether values are handed on without copies (`pipeline.object-reuse`).
    """

    def __init__(self, output_type: Any = None, reuses_objects: bool = False) -> None:
        self.output_type = output_type
        self.reuses_objects = reuses_objects
        self._coerce = batch_coercer(output_type)
        self._main: list[Receiver] = []
        self._sides: dict[str, list[Receiver]] = {}

    def settler(self, declared: Any, name: str) -> tuple[str, Callable[[Any], Any]]:
        """What settles a result of a declared type: `(source, function)`.

        The source is true for a value of that name which is settled as it is; the function takes the others. The
        source refers to `ownership.IMMUTABLE` as `immutable`.
        """
        coerce = coercer(declared)
        if coerce is None and self.reuses_objects:
            return "True", _same
        return fits(declared, name), coerce or own

    def connect(self, receiver: Receiver, output_tag: str | None) -> None:
        """Add a receiver of the main output, or of the side output with that tag id."""
        (self._main if output_tag is None else self._sides.setdefault(output_tag, [])).append(receiver)

    @property
    def main_receivers(self) -> list[Receiver]:
        """The receivers of the main output."""
        return self._main

    @property
    def has_side_outputs(self) -> bool:
        """Whether anybody reads a side output."""
        return bool(self._sides)

    @property
    def receivers(self) -> list[Receiver]:
        """All receivers, of main and side outputs."""
        return self._main + [receiver for side in self._sides.values() for receiver in side]

    def emit(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit elements to the main output."""
        if values:
            self.hand_on(values if self._coerce is None else self._coerce(values), timestamps)

    def hand_on(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit settled elements to the main output."""
        if values:
            self._hand_to(self._main, values, timestamps)

    def reads_side(self, tag: Any) -> bool:
        """Return whether anybody reads the side output of `tag` (an OutputTag)."""
        return tag.tag_id in self._sides

    def hand_on_side(self, tag: Any, values: list[Any], timestamps: Timestamps) -> None:
        """Emit settled elements to the side output of `tag` (an OutputTag), which somebody reads."""
        self._hand_to(self._sides[tag.tag_id], values, timestamps)

    def _hand_to(self, receivers: list[Receiver], values: list[Any], timestamps: Timestamps) -> None:
        """Hand elements to receivers; each but the last gets copies of what it could change."""
        shared = len(receivers) > 1 and not self.reuses_objects and not are_immutable(values)
        for receiver in receivers:
            own_values = [own(value) for value in values] if shared and receiver is not receivers[-1] else values
            receiver.process(own_values, timestamps)

    def watermark(self, timestamp: int) -> None:
        """Emit a watermark to all receivers."""
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


def _same(value: Any) -> Any:
    return value


OBJECT_REUSE = "pipeline.object-reuse"


@dataclass(slots=True)
class TaskInfo:
    """Who the subtask is that an operator runs in.

    Attributes:
        key_type: The declared type of its input's key, if any.
        is_checkpoint: Whether a checkpoint follows the batch that runs.
        is_savepoint: Whether a savepoint follows that checkpoint.
        began: Run, batch and try in which the subtask was made; later ones are larger, over restarts and leaders.
        output_directory: Where large output for the driver goes, in a place that all processes see; empty: nowhere.
        spool_directory: Where sinks put files on this host that their state refers to; empty: nowhere.
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
    key_type: Any = None
    is_checkpoint: bool = True
    is_savepoint: bool = False
    began: tuple[int, int, int] = (0, 0, 0)
    metrics: dict[str, Any] = field(default_factory=dict)
    output_directory: str = ""
    spool_directory: str = ""

    @property
    def reuses_objects(self) -> bool:
        """Whether the configuration says that values are handed on without copies."""
        return self.configuration.get(OBJECT_REUSE, "false").lower() == "true"


class Operator:
    """One running operator of one subtask.

    Life: `open`, `restore` if there is a version to start from, then any of the `process...` calls, `end_input` per
    input, `close`.

    Attributes:
        copies_state: Whether each subtask has all of some state.
        passes_on: Whether its results are elements that it takes, unchanged.
        takes_immutable: Whether nobody can change the elements that it takes, by their declared type.
        carries_state: Whether a snapshot that is not empty must not get lost when another job goes on from it. What
            only belongs to this run, such as watermarks, may.
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
        self.user_location: str | None = None
        self.operator_id = name

    def open(self) -> None:
        """Get ready: called once per attempt, before anything else."""

    def close(self) -> None:
        """Release what `open` took; also after a failure."""

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the first input."""
        raise NotImplementedError(f"{type(self).__name__} has no input")

    def process2(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the second input."""
        raise NotImplementedError(f"{type(self).__name__} has one input")

    def emit_gathered(self) -> None:
        """Emit the results of the elements before the one that user code failed at; errors downstream come first.

        So a failure is that of the element that Flink, which takes them one by one, would have failed at.
        """

    def process_watermark(self, timestamp: int) -> None:
        """Advance event time and tell the receivers."""
        self.watermark = timestamp
        self.output.watermark(timestamp)

    def process_idle(self, is_idle: bool) -> None:
        """Take a change of idleness of all inputs together."""
        self.output.idle(is_idle)

    def end_input(self, index: int) -> None:
        """Take the end of input `index` (0 or 1); what is still held is emitted when the last one ended."""

    def advance_processing_time(self, now_ms: int) -> None:
        """Fire what is due in processing time."""

    def next_processing_time(self) -> int | None:
        """When `advance_processing_time` has something to do again (ms), None: never."""
        return None

    def end_batch(self) -> None:
        """The batch is over: sinks finish what belongs to it."""

    def snapshot(self) -> Any:
        """What `restore` needs to go on from here, picklable, small (keyed state is kept apart); None: nothing."""
        return None

    def restore(self, snapshot: Any) -> None:
        """Go on from a snapshot."""

    def state_parts(self, full: bool) -> Iterator[Any]:
        """What changed of keyed and broadcast state since the last version, or (`full`) all of it, as `Delta`s."""
        return iter(())

    def load_keyed(self, delta: Any, key_groups: range | None = None) -> None:
        """Take a `Delta` before `open`, if it is of keyed state; of another job's only what is in some key groups."""

    def load_copied(self, delta: Any) -> None:
        """Take a `Delta` before `open`, if it is of a state that each subtask has in full."""

    def take_over(self, snapshots: Sequence[Any]) -> None:
        """Take this subtask's share of what all subtasks of the operator had in another job (if `carries_state`)."""

    def committables(self) -> Sequence[Any]:
        """What the sinks want to have committed with this batch; taken once."""
        return ()


class OperatorInput:
    """One input of an operator inside a chain; names the operator when user code raises."""

    __slots__ = ("_index", "operator")

    def __init__(self, operator: Operator, index: int = 0) -> None:
        self.operator = operator
        self._index = index

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Hand elements to the operator."""
        operator = self.operator
        try:
            (operator.process2 if self._index else operator.process)(values, timestamps)
        except UserFunctionError:
            raise
        except Exception as error:
            failure = UserFunctionError.of(error, operator)
            operator.emit_gathered()
            raise failure from error

    def watermark(self, timestamp: int) -> None:
        """Hand a watermark to the operator."""
        with_operator_named(self.operator, self.operator.process_watermark, timestamp)

    def idle(self, is_idle: bool) -> None:
        """Hand a change of idleness to the operator."""
        self.operator.process_idle(is_idle)

    def end(self) -> None:
        """End the operator's only input, and with it its output."""
        with_operator_named(self.operator, self.operator.end_input, 0)
        self.operator.output.end()


def with_operator_named(operator: Operator, call: Callable[..., Any], *args: Any) -> Any:
    """Make `call`; an exception of the user's code is raised again as a `UserFunctionError` that names the operator."""
    try:
        return call(*args)
    except UserFunctionError:
        raise
    except Exception as error:
        raise UserFunctionError.of(error, operator) from error
