"""One subtask: the connected chain of operators of a job vertex, with its inputs and counters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.encoding import encoded, encoded_entries
from firesteel.common.encoding.program_values import program_entries, program_value
from firesteel.common.keys.key_groups import key_group_range
from firesteel.common.values.coercion import is_immutable_type
from firesteel.functions import operator_descriptors as descriptors
from firesteel.functions.splits import Idleness, SplitRange
from firesteel.graph.job_graph import ChainedOperator, JobVertex
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.operator import Operator, OperatorInput, Output, Receiver, TaskInfo, with_operator_named
from firesteel.operators.chain.operator_errors import USER_ERRORS, UserFunctionError
from firesteel.operators.chain.user_metrics import measured
from firesteel.operators.exchange.input_gate import Channel, InputGate
from firesteel.operators.sources.source_runner import SourceRunner
from firesteel.operators.state.entries import Delta

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot

FITTING_OUTPUT = (
    descriptors.SourceOperator,
    descriptors.CollectionSourceOperator,
    descriptors.FilterOperator,
    descriptors.ReduceOperator,
    descriptors.ExtractTimestampOperator,
    descriptors.TimestampsAndWatermarksOperator,
    descriptors.RemoveTimestampOperator,
    descriptors.KeyByOperator,
    descriptors.ValuesOperator,
    descriptors.PartitionCustomOperator,
)
"""Operators whose output needs no conversion, as it already has its type or is a pair internal to the chain."""

Version = dict[str, Any]
"""The state of a subtask without keyed state: `ended`, the state of its `gate` and `edges`, and in `operators`
by id `(has state, encoded snapshot)`. The flag tells whether another job must restore the snapshot."""

State = tuple[str, bytes]
"""(operator id, encoded Delta): a part of the keyed state of an operator."""


class RestoredState(Protocol):
    """The state of operators in another job's checkpoint."""

    def keyed(self, operator_ids: Collection[str], key_groups: range) -> Iterator[tuple[str, Delta]]:
        """Return the keyed state of operators in (at least) some key groups: operator ids, and deltas in order."""

    def copied(self, operator_id: str, subtask: int) -> Iterator[Delta]:
        """Return the broadcast state of an operator's subtask, as deltas to apply in order."""

    def snapshots(self, operator_ids: Collection[str]) -> dict[str, list[Any]]:
        """Return the snapshots of all subtasks of operators, in subtask order, by operator id."""


class Edge(Receiver, Protocol):
    """An outgoing edge of the subtask."""

    @property
    def records_out(self) -> int:
        """The number of elements written so far."""

    @property
    def bytes_out(self) -> int:
        """The bytes of the buffers sent; elements passed within the slot are not encoded and not counted."""

    def flush(self) -> None:
        """Send all pending buffers."""

    def snapshot(self) -> Snapshot:
        """Return the state of the edge's partitioner."""

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state of the edge's partitioner."""


class Subtask:
    """One subtask that runs batch by batch; the caller adds its working time in seconds to `busy_s`.

    Args:
        vertex: The job vertex, with its chain.
        task: The identity of the subtask.
        channels: The input of the head for each (gate, producing subtask).
        edges: The outgoing edges by data set id.
    """

    def __init__(
        self, vertex: JobVertex, task: TaskInfo, channels: dict[Channel, int], edges: Mapping[str, Sequence[Edge]]
    ) -> None:
        self.task = task
        self.busy_s = 0.0
        self.operators: list[tuple[str, Operator]] = []
        self._is_open = False
        self._snapshots: dict[str, object] = {}
        self._edges = [edge for group in edges.values() for edge in group]
        self._sent_before = 0
        self._by_node: dict[int, Operator] = {}
        self._outputs: dict[int, Output] = {}
        from firesteel.operators.chain.fusion import fuse  # late, as in `_add_node`

        for node in vertex.chain:
            self._add_node(node, edges)
        for node in vertex.chain:
            for chained in node.chained_outputs:
                target = OperatorInput(self._by_node[chained.target_node_id])
                self._outputs[node.node_id].connect(target, chained.output_tag)
        # Only now, as both look at the receivers of each operator; marks first, since fused loops copy what is not
        # marked.
        _mark_immutable(operator for _, operator in self.operators)
        fuse(operator for _, operator in self.operators)
        self.head = self.operators[0][1]
        if self.source is not None:
            self.source.bytes_sent = self._bytes_sent
        self.gate = InputGate(self.head, channels)

    def _add_node(self, node: ChainedOperator, edges: Mapping[str, Sequence[Edge]]) -> None:
        """Create the operators of one node (several if the API merged them) and connect its edges."""
        # Late import: a JobManager reads the layout of subtasks, and runs none.
        from firesteel.operators.chain.factory import make_operator

        operators: list[Operator] = []
        for operator_id, (descriptor, name, output_type) in zip(operator_ids(node), _parts(node), strict=True):
            # A conversion costs a call per element, so it is left out where it could change nothing.
            declared = None if isinstance(descriptor, FITTING_OUTPUT) else output_type
            output = Output(declared, self.task.reuses_objects)
            operator = make_operator(descriptor, name, self.task, output)
            operator.user_location = node.user_location
            if operators:
                operators[-1].output.connect(OperatorInput(operator), None)
            operators.append(operator)
            operator.operator_id = operator_id
            self.operators.append((operator_id, operator))
        self._by_node[node.node_id] = operators[0]
        self._outputs[node.node_id] = operators[-1].output
        for left in node.outputs:
            for edge in edges[left.data_set_id]:
                operators[-1].output.connect(edge, left.output_tag)

    @property
    def source(self) -> SourceRunner | None:
        """The head if it is a source, else None."""
        return self.head if isinstance(self.head, SourceRunner) else None

    @property
    def has_ended(self) -> bool:
        """Whether all input was processed."""
        return self.source.has_ended if self.source is not None else self.gate.has_ended

    @property
    def records_in(self) -> int:
        """The number of elements read so far."""
        return self.gate.records_in

    @property
    def records_out(self) -> int:
        """The number of elements written to edges so far."""
        return sum(edge.records_out for edge in self._edges)

    @property
    def source_bytes(self) -> int:
        """Approximate number of bytes that the source read or sent in this batch, whichever is larger."""
        return 0 if self.source is None else max(self.source.bytes_read, self._bytes_sent() - self._sent_before)

    def _bytes_sent(self) -> int:
        return sum(edge.bytes_out for edge in self._edges)

    def metrics(self) -> dict[str, float]:
        """Return the metrics: the task's with Flink's names, the user's as `<operator>.<group>.<name>`."""
        own: dict[str, float] = {
            "numRecordsIn": self.records_in,
            "numRecordsOut": self.records_out,
            "numBytesIn": self.gate.bytes_in,
            "numBytesInLocal": self.gate.bytes_in - self.gate.bytes_in_remote,
            "numBytesInRemote": self.gate.bytes_in_remote,
            "numBytesOut": self._bytes_sent(),
            "accumulateBusyTimeMs": round(self.busy_s * 1000),
        }
        own["currentOutputWatermark"] = self.operators[-1][1].watermark
        if self.source is not None:
            own["accumulateReadTimeMs"] = round(self.source.read_s * 1000)
        else:
            own["currentInputWatermark"] = self.gate.watermark
        return own | measured(self.task.metrics)

    def open(self) -> None:
        """Open the operators from last to first, as Flink does."""
        self._is_open = True
        # An operator may emit in `open`, so those after it must be open before.
        for _, operator in reversed(self.operators):
            with_operator_named(operator, operator.open)

    def close(self) -> None:
        """Close the operators once; raise the first error after all were closed."""
        if self._is_open:
            self._is_open = False
            self._close_operators()

    def _close_operators(self) -> None:
        # An operator that fails to close must not keep the others from releasing what they hold.
        errors: list[BaseException] = []
        for _, operator in self.operators:
            try:
                with_operator_named(operator, operator.close)
            except USER_ERRORS as error:
                errors.append(error)
        if errors:
            raise errors[0]

    def close_if_ended(self) -> None:
        """Close the operators if all input was processed, as Flink does when a task finishes."""
        if self._is_open and self.has_ended:
            # Later versions still contain the state of a subtask that has ended, and its operators are closed by then.
            self._snapshots = self._take_snapshots()
            self.close()

    def begin_batch(self) -> None:
        """Begin a batch and fire the processing-time work that is due."""
        # Bytes are counted from the start of the job, and the size of a batch is that of its own.
        self._sent_before = self._bytes_sent()
        if self._is_open:
            self.gate.flush()  # rows that timers of another subtask of this slot have just emitted
            self._advance_processing_time()

    def read(self, ranges: Sequence[SplitRange], idleness: Idleness | None) -> Iterator[None]:
        """Let the source read the ranges after a change of idleness, if any, and yield after each chunk."""
        assert self.source is not None
        chunks = self.source.read(ranges, idleness)
        while True:
            try:
                next(chunks)
            except StopIteration:
                return
            except UserFunctionError:
                raise
            except USER_ERRORS as error:
                raise UserFunctionError.of(error, self.source) from error
            yield

    def end_batch(self) -> None:
        """Fire the processing-time work that is due, let sinks finish the batch, and flush the edges."""
        if not self._is_open:
            return
        self.gate.flush()
        # An ended subtask fires no timers: as in Flink, timers in processing time are dropped at the end of input.
        if not self.has_ended:
            self._advance_processing_time()
        for _, operator in self.operators:
            with_operator_named(operator, operator.end_batch)
        for edge in self._edges:
            edge.flush()

    def _advance_processing_time(self) -> None:
        now = now_ms()
        for _, operator in self.operators:
            with_operator_named(operator, operator.advance_processing_time, now)

    def next_processing_time(self) -> int | None:
        """Return the time in ms at which there is work to do even without input, or None."""
        if self.has_ended:
            return None
        times = [time for _, operator in self.operators if (time := operator.next_processing_time()) is not None]
        return min(times, default=None)

    @property
    def awaits_checkpoint(self) -> bool:
        """Whether a sink has something to show with a later checkpoint."""
        return self._is_open and any(operator.awaits_checkpoint for _, operator in self.operators)

    def committables(self) -> list[Any]:
        """Return the committables of the sinks for this batch."""
        return [committable for _, operator in self.operators for committable in operator.committables()]

    # --- versions ----------------------------------------------------------------------------------------------

    def keyed_state(self, full: bool) -> Iterator[State]:
        """Yield the changes of keyed and broadcast state since the last version, or all of it if `full`."""
        for operator_id, operator in self.operators:
            for name, entries in operator.state_parts(full):
                yield operator_id, encoded_entries(name, entries)

    def publish_state(self, batch_id: int) -> None:
        """Let other threads see the state after a batch, whose changes `keyed_state` has returned."""
        self.task.last_batch = batch_id
        for _, operator in self.operators:
            operator.publish_state(batch_id)

    def version(self) -> Version:
        """Return the state of the subtask without keyed and broadcast state."""
        snapshots = self._take_snapshots() if self._is_open else self._snapshots
        operators = {}
        for operator_id, operator in self.operators:
            snapshot = snapshots.get(operator_id)
            # The flag is readable without running code of users, whose classes the snapshot may contain.
            operators[operator_id] = (operator.carries_state and bool(snapshot), encoded(snapshot))
        edges = [edge.snapshot() for edge in self._edges]
        return {"ended": self.has_ended, "gate": self.gate.snapshot(), "edges": edges, "operators": operators}

    def _take_snapshots(self) -> dict[str, object]:
        return {operator_id: operator.snapshot() for operator_id, operator in self.operators}

    def load(self, operator_id: str, delta: bytes) -> None:
        """Load a part of an operator's keyed or broadcast state, before `start`."""
        operator = next(operator for found, operator in self.operators if found == operator_id)
        loaded = program_entries(delta)
        # Each of them takes the tables that are its own, by their names.
        operator.load_keyed(loaded)
        operator.load_copied(loaded)

    def start(self, version: Version | None) -> None:
        """Open the operators and restore a version, if given; a subtask that has ended stays closed."""
        if version is not None:
            states = version["operators"].items()
            self._snapshots = {operator_id: program_value(snapshot) for operator_id, (_, snapshot) in states}
            self._restore_ends(version)
        if version is None or not version["ended"]:
            self.open()
            self._restore_operators()

    def start_from(self, restored: RestoredState) -> None:
        """Open the operators with their state from another job."""
        groups = key_group_range(self.task.subtask_index, self.task.parallelism, self.task.max_parallelism)
        by_id = dict(self.operators)
        for operator_id, delta in restored.keyed(by_id, groups):
            by_id[operator_id].load_keyed(delta, groups)
        for operator_id, operator in self.operators:
            if operator.copies_state:
                for delta in restored.copied(operator_id, self.task.subtask_index):
                    operator.load_copied(delta)
        self.open()
        # All subtasks get all snapshots, as only the operator knows how to share them out.
        carriers = [operator_id for operator_id, operator in self.operators if operator.carries_state]
        for operator_id, snapshots in restored.snapshots(carriers).items():
            if found := [snapshot for snapshot in snapshots if snapshot is not None]:
                by_id[operator_id].take_over(found)

    def _restore_ends(self, version: Version) -> None:
        self.gate.restore(version["gate"])
        for edge, where in zip(self._edges, version["edges"], strict=True):
            edge.restore(where)
        if self.source is not None:
            self.source.has_ended = version["ended"]

    def _restore_operators(self) -> None:
        for operator_id, operator in self.operators:
            snapshot = self._snapshots.get(operator_id)
            if snapshot is not None:
                operator.restore(snapshot)


def _mark_immutable(operators: Iterable[Operator]) -> None:
    """Mark the operators of a chain, in order, whose input elements have an immutable type."""
    for operator in operators:
        # A filter hands on what it gets, so what is known of its input is known of its output.
        known = operator.passes_on and operator.takes_immutable
        if known or is_immutable_type(operator.output.output_type):
            for receiver in operator.output.main_receivers:
                if isinstance(receiver, OperatorInput):
                    receiver.operator.takes_immutable = True


def operator_ids(node: ChainedOperator) -> list[str]:
    """Return the ids of the operators of one node, several if the API merged them.

    The first one, which alone can have state, has the id of the node, so its state is found regardless of merging.
    """
    later = range(1, len(_parts(node)))
    return [node.operator_id, *(f"{node.operator_id}#{position}" for position in later)]


def operators_of(vertex: JobVertex) -> list[tuple[str, str]]:
    """Return the id and name of all operators of a vertex."""
    return [(operator_id, name) for operator_id, name, _ in described_operators(vertex)]


def described_operators(vertex: JobVertex) -> list[tuple[str, str, object]]:
    """Return the id, name and descriptor of all operators of a vertex."""
    return [
        (operator_id, name, descriptor)
        for node in vertex.chain
        for operator_id, (descriptor, name, _) in zip(operator_ids(node), _parts(node), strict=True)
    ]


def _parts(node: ChainedOperator) -> list[tuple[Any, str, Any]]:
    if isinstance(node.operator, descriptors.MergedOperator):
        merged = node.operator
        return list(zip(merged.operators, merged.names, merged.output_types, strict=True))
    return [(node.operator, node.name, node.output_type)]
