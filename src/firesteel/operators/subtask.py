"""One subtask: the chain of operators of a job vertex, wired together, with its inputs and counters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from firesteel.datastream import operator_descriptors as descriptors
from firesteel.graph.job_graph import ChainedOperator, JobVertex
from firesteel.operators.clock import now_ms
from firesteel.operators.factory import make_operator
from firesteel.operators.input_gate import Channel, InputGate
from firesteel.operators.keyed import KeyedOperator
from firesteel.operators.operator import Operator, OperatorInput, Output, Receiver, TaskInfo, with_operator_named
from firesteel.operators.source_runner import SourceRunner
from firesteel.operators.state_backend import Delta

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
"""Operators whose output needs no conversion: it has its type already, or is a pair that only the next operator sees."""

Version = dict[str, Any]
"""What a subtask needs to go on: `gate`, and per operator its `state` (a Delta) and its `snapshot`."""


class Edge(Receiver, Protocol):
    """The end of an edge that leaves the subtask."""

    @property
    def records_out(self) -> int:
        """Elements written so far."""

    def flush(self) -> None:
        """Send what is pending."""


class Subtask:
    """Runs one subtask batch by batch.

    Args:
        vertex: The job vertex, with its chain.
        task: Who the subtask is.
        channels: For each (gate, producing subtask) the input of the head it feeds.
        edges: Where each data set goes: data set id to edges.
    """

    def __init__(
        self, vertex: JobVertex, task: TaskInfo, channels: dict[Channel, int], edges: dict[str, Sequence[Edge]]
    ) -> None:
        self.task = task
        self.operators: list[tuple[str, Operator]] = []
        self._edges = [edge for group in edges.values() for edge in group]
        self._by_node: dict[int, Operator] = {}
        self._outputs: dict[int, Output] = {}
        for node in vertex.chain:
            self._add_node(node, edges)
        for node in vertex.chain:
            for chained in node.chained_outputs:
                target = OperatorInput(self._by_node[chained.target_node_id])
                self._outputs[node.node_id].connect(target, chained.output_tag)
        self.head = self.operators[0][1]
        self.gate = InputGate(self.head, channels)

    def _add_node(self, node: ChainedOperator, edges: dict[str, Sequence[Edge]]) -> None:
        """Make the operators of one node, several where the API merged them, and connect its edges."""
        parts = _parts(node)
        operators: list[Operator] = []
        for position, (descriptor, name, output_type) in enumerate(parts):
            output = Output(None if isinstance(descriptor, FITTING_OUTPUT) else output_type)
            operator = make_operator(descriptor, name, self.task, output)
            operator.user_location = node.user_location
            if operators:
                operators[-1].output.connect(OperatorInput(operator), None)
            operators.append(operator)
            suffix = f"#{position}" if len(parts) > 1 else ""
            self.operators.append((f"{node.operator_id}{suffix}", operator))
        self._by_node[node.node_id] = operators[0]
        self._outputs[node.node_id] = operators[-1].output
        for left in node.outputs:
            for edge in edges[left.data_set_id]:
                operators[-1].output.connect(edge, left.output_tag)

    @property
    def source(self) -> SourceRunner | None:
        """The head, if it is a source."""
        return self.head if isinstance(self.head, SourceRunner) else None

    @property
    def has_ended(self) -> bool:
        """True when all input was processed."""
        return self.source.has_ended if self.source is not None else self.gate.has_ended

    @property
    def records_in(self) -> int:
        """Elements read so far."""
        return self.gate.records_in

    @property
    def records_out(self) -> int:
        """Elements written to edges so far."""
        return sum(edge.records_out for edge in self._edges)

    def open(self) -> None:
        """Open the operators, the last one first, as Flink does."""
        for _, operator in reversed(self.operators):
            with_operator_named(operator, operator.open)

    def close(self) -> None:
        """Close the operators; the first error is raised once all were closed."""
        _close_all(operator for _, operator in self.operators)

    def begin_batch(self) -> None:
        """Fire what is due in processing time."""
        self._advance_processing_time()

    def end_batch(self) -> None:
        """Fire what is due, let sinks finish the batch, send what is pending."""
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
        """When there is something to do again although nothing comes (ms), None: never."""
        times = [time for _, operator in self.operators if (time := operator.next_processing_time()) is not None]
        return min(times, default=None) if not self.has_ended else None

    def committables(self) -> list[Any]:
        """What the sinks want to have committed with this batch."""
        return [committable for _, operator in self.operators for committable in operator.committables()]

    # --- versions ----------------------------------------------------------------------------------------------

    def version(self, full: bool) -> Version:
        """What changed since the last version, or (`full`) everything."""
        states = {}
        for operator_id, operator in self.operators:
            state: Delta = {}
            if isinstance(operator, KeyedOperator):
                state = operator.backend.delta()
                if full:
                    state = operator.backend.full()
            states[operator_id] = (state, operator.snapshot())
        return {"gate": self.gate.snapshot(), "operators": states}

    def load(self, versions: Sequence[Version]) -> None:
        """Before `open`: take the keyed state of these versions, the oldest first."""
        for version in versions:
            for operator_id, operator in self.operators:
                if isinstance(operator, KeyedOperator) and operator_id in version["operators"]:
                    operator.backend.load(version["operators"][operator_id][0])

    def restore(self, version: Version) -> None:
        """After `open`: go on from this version."""
        self.gate.restore(version["gate"])
        for operator_id, operator in self.operators:
            found = version["operators"].get(operator_id)
            if found is not None and found[1] is not None:
                operator.restore(found[1])


def _parts(node: ChainedOperator) -> list[tuple[Any, str, Any]]:
    if isinstance(node.operator, descriptors.MergedOperator):
        merged = node.operator
        return list(zip(merged.operators, merged.names, merged.output_types, strict=True))
    return [(node.operator, node.name, node.output_type)]


def _close_all(operators: Iterable[Operator]) -> None:
    errors: list[Exception] = []
    for operator in operators:
        try:
            with_operator_named(operator, operator.close)
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
