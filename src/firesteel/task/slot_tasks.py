"""The subtasks of one slot, and the execution of one stage of one batch."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.values.bounded_results import DiskReserveError, OutputReserveError
from firesteel.graph.job_graph import JobVertex
from firesteel.graph.parallelism import max_parallelism_of
from firesteel.operators.chain import clock
from firesteel.operators.chain.operator import TaskInfo, Timestamps
from firesteel.operators.chain.operator_errors import USER_ERRORS
from firesteel.operators.chain.record_count import record_count
from firesteel.operators.chain.subtask import Edge, RestoredState, Subtask, Version
from firesteel.operators.exchange import edge_writer
from firesteel.operators.exchange.buffers import Item, decode, encode
from firesteel.operators.exchange.spill import SpilledList
from firesteel.operators.state.cache_memory import noted_part
from firesteel.task.batch_plan import BatchPlan, StageReport, SubtaskReport
from firesteel.task.protocol import REPORT_GATE, Row
from firesteel.task.stage_plan import StageEdge, StagePlan
from firesteel.task.state_transfer import NOTHING_STORED, Stored
from firesteel.task.stopwatch import Stopwatch
from firesteel.task.version_chains import Frame
from firesteel.task.version_store import VersionStore, shown_in, spool_in
from firesteel.task.versions import BatchTry, Chain

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation

_PENDING_BYTES = 64 << 20
"""Maximum size of the output of one operator call that is kept in memory. In BATCH mode, the end of input emits the
complete result of a keyed operator."""


class _LocalEdge:
    """An edge to a subtask of the same slot and stage: elements are passed on directly."""

    def __init__(self, target: Callable[[], Subtask], stopwatch: Stopwatch, gate: int, subtask: int) -> None:
        self._target = target
        self._stopwatch = stopwatch
        self._gate = gate
        self._subtask = subtask
        self.records_out = 0
        self.bytes_out = 0

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        self.records_out += record_count(values)
        self._hand_over((values, timestamps))

    def watermark(self, timestamp: int) -> None:
        self._hand_over(timestamp)

    def idle(self, is_idle: bool) -> None:
        self._hand_over(is_idle)

    def end(self) -> None:
        self._hand_over(None)

    def _hand_over(self, item: Item) -> None:
        # Asked for late, as the target is created after the edge to it.
        target = self._target()
        with self._stopwatch.within(target):
            # Through the gate even within a slot: watermarks of this channel are to be combined with those of others.
            target.gate.receive(self._gate, self._subtask, [item])

    def flush(self) -> None:
        pass

    def snapshot(self) -> None:
        pass

    def restore(self, snapshot: Any) -> None:
        pass


class SlotTasks:
    """The subtasks of one slot, which it creates, restores and runs stage by stage.

    Args:
        job: The job graph as bytes, from which each attempt of the subtasks gets fresh user functions.
        options: The options that the job runs with.
        slot: Number of the slot in the job.
        attempt: Number of the attempt.
        store: The store of versions; None in BATCH mode, where an attempt runs a single batch.
        restored: The state of another job that this one is restored from.
        directory: The directory of the region's versions, for files that its state refers to; None if there is none.
        is_shared: Whether the directory is shared with the driver, so that it can hold large output for it.

    Attributes:
        stages: The subtasks by vertex id, of each stage.
        turn: Held while a batch runs; another thread that holds it can read the state.
    """

    def __init__(
        self,
        job: bytes,
        options: Mapping[str, str],
        slot: int,
        attempt: int,
        store: VersionStore | None,
        restored: Callable[[], RestoredState | None] = lambda: None,
        directory: Path | None = None,
        is_shared: bool = True,
    ) -> None:
        self._job = job
        self._options = options
        self._slot = slot
        self._attempt = attempt
        self._store = store
        self._restored = restored
        self._directory = directory
        self._output = directory if is_shared else None
        self.stages: dict[int, dict[str, Subtask]] = {}
        self.turn = threading.RLock()
        self._gates: dict[int, dict[int, tuple[Subtask, int]]] = {}
        self._stopwatch = Stopwatch()
        self._at: dict[int, Chain] = {}
        self._rows = SpilledList(_PENDING_BYTES, temporary_directory(options))

    def open_stage(self, stage: int, at: BatchTry, version: Chain = ()) -> None:
        """Create the subtasks of a stage anew, at a given version (empty: before the first batch)."""
        self.close_stage(stage)
        # Anew for each attempt: user functions may hold what the failed attempt left in them.
        plan = StagePlan(pickle.loads(self._job))
        subtasks: dict[str, Subtask] = {}
        for vertex in plan.vertices_at(stage):
            index = self._slot - plan.base_of(vertex)
            if 0 <= index < vertex.parallelism:
                subtasks[vertex.id] = self._make_subtask(plan, vertex, index, at, subtasks)
        self.stages[stage] = subtasks
        self._gates[stage] = {
            edge.gate: (subtasks[edge.target.id], plan.base_of(edge.source))
            for edge in plan.edges
            if edge.target.id in subtasks
        }
        self._start(stage, version)
        self._at[stage] = version

    def _start(self, stage: int, version: Chain) -> None:
        subtasks = self.stages[stage]
        restored = None if version else self._restored()
        if restored is not None:
            for subtask in subtasks.values():
                subtask.start_from(restored)
            return
        versions: dict[str, Version] = {}
        if self._store is not None:
            for vertex_id, operator_id, state in self._store.read(version):
                if operator_id is None:
                    versions[vertex_id] = state
                else:
                    subtasks[vertex_id].load(operator_id, state)
        for vertex_id, subtask in subtasks.items():
            subtask.start(versions.get(vertex_id))

    def _make_subtask(
        self, plan: StagePlan, vertex: JobVertex, index: int, at: BatchTry, subtasks: dict[str, Subtask]
    ) -> Subtask:
        channels = {
            (edge.gate, producer): max(edge.edge.type_number - 1, 0)
            for edge in plan.inputs_of(vertex)
            for producer in edge.producers_of(index)
        }
        edges: dict[str, list[Edge]] = {
            data_set.id: [self._make_edge(plan, edge, index, subtasks) for edge in plan.outputs_of(vertex, data_set.id)]
            for data_set in vertex.produced_data_sets
        }
        return Subtask(vertex, self._task_info(plan, vertex, index, at), channels, edges)

    def _task_info(self, plan: StagePlan, vertex: JobVertex, index: int, at: BatchTry) -> TaskInfo:
        job_graph = plan.job_graph
        is_batch = job_graph.job_type == "BATCH"
        key_types = [_key_type_of(e) for e in plan.inputs_of(vertex) if e.edge.partitioner.name == "HASH"]
        return TaskInfo(
            job_graph.job_id,
            vertex.id,
            vertex.name,
            index,
            vertex.parallelism,
            max_parallelism_of(vertex),
            self._attempt,
            is_batch,
            dict(self._options),
            # Inputs of one vertex must agree about their key, as state is found by it from each of them.
            key_types[0] if key_types else None,
            began=(at.run, at.batch_id, at.number),
            output_directory="" if self._output is None else str(shown_in(self._output, at.run)),
            spool_directory="" if self._directory is None or is_batch else str(spool_in(self._directory, at.run)),
        )

    def _make_edge(self, plan: StagePlan, edge: StageEdge, index: int, subtasks: dict[str, Subtask]) -> Edge:
        target = edge.target
        if plan.level_of[target.id] == plan.level_of[edge.source.id]:
            return _LocalEdge(lambda: subtasks[target.id], self._stopwatch, edge.gate, index)
        channels = list(edge.consumers_of(index))
        base, slot, gate = plan.base_of(target), self._slot, edge.gate

        def send(channel: int, payload: bytes) -> None:
            try:
                self._rows.add([(base + channel, slot, gate, payload)], None, len(payload))
            except DiskReserveError as error:
                raise OutputReserveError(edge.source.name, str(error)) from error

        return edge_writer.EdgeWriter(_split_of(edge, index, channels), channels, send)

    def close_stage(self, stage: int) -> None:
        """Close the subtasks of a stage; raise the first error after all were closed."""
        _close_all(self.stages.pop(stage, {}).values())

    def close(self) -> None:
        """Close all subtasks; raise the first error after all were closed."""
        with self.turn:
            subtasks = [subtask for stage in self.stages.values() for subtask in stage.values()]
            self.stages.clear()
            self._rows.close()
            if self._store is not None:
                self._store.close()
            _close_all(subtasks)

    def run_stage(
        self,
        stage: int,
        at: BatchTry,
        parent: Chain,
        batch: BatchPlan,
        rows: Iterable[tuple[int, int, bytes]],
        *,
        is_remote: bool = False,
    ) -> Generator[Row, None, None]:
        """Run one stage of one batch: take `(source slot, gate, payload)` rows and yield rows for later stages.

        Args:
            stage: The stage.
            at: The batch and its try.
            parent: The version to start from; subtasks at another version are created anew.
            batch: What the batch reads.
            rows: The output of earlier stages for this slot.
            is_remote: Whether the rows come from another host.

        Raises:
            TryIsOverError: another process has already run the stage in this try.
        """
        with self.turn:
            try:
                if self._store is not None:
                    self._store.check_try(stage, at)
                # Another slot's failure repeats the batch for all; this one's subtasks are then a batch ahead.
                if self._at.get(stage) != parent or stage not in self.stages:
                    self.open_stage(stage, at, parent)
                # Until the batch has succeeded the subtasks are at no version, so one that is tried again creates them
                # anew.
                self._at.pop(stage, None)
                yield from self._run_open_stage(stage, at, parent, batch, rows, is_remote)
            except USER_ERRORS as error:
                self._close_after(error, stage)
                raise

    def _close_after(self, error: BaseException, stage: int) -> None:
        """Close the subtasks of a failed stage; an error while closing becomes a note of the original error."""
        try:
            self.close_stage(stage)
        except USER_ERRORS as second:
            error.add_note(f"Closing the operators failed, too: {second}")

    def _run_open_stage(
        self,
        stage: int,
        at: BatchTry,
        parent: Chain,
        batch: BatchPlan,
        rows: Iterable[tuple[int, int, bytes]],
        is_remote: bool,
    ) -> Iterator[Row]:
        self._rows.close()
        subtasks = self.stages[stage].values()
        self._begin_batch(subtasks, batch)
        # First what other stages have sent: the small input of a join is then complete when the large one is read.
        yield from self._receive(stage, rows, is_remote)
        for subtask in subtasks:
            yield from self._read_source(subtask, batch)
        for subtask in subtasks:
            with self._stopwatch.within(subtask):
                subtask.end_batch()
        yield from self._take_rows()
        # Taken before the state is written, which must not have them any more.
        committables = [one for subtask in subtasks for one in subtask.committables()]
        # Before ended subtasks are closed: a closed operator has no keyed state to write.
        begun_s = time.perf_counter()
        chain = self._write_version(stage, at, parent, batch)
        state_s = time.perf_counter() - begun_s
        for subtask in subtasks:
            subtask.publish_state(at.batch_id)
            subtask.close_if_ended()
        self._at[stage] = chain
        stored = self._store_for_checkpoint(stage, chain, parent, batch)
        report = replace(
            self._report(stage, committables, chain, at.number, stored), state_s=state_s, noted_part=noted_part()
        )
        yield (self._slot, self._slot, REPORT_GATE, encode([([report], None)]))

    def _begin_batch(self, subtasks: Iterable[Subtask], batch: BatchPlan) -> None:
        if batch.now_ms is not None:
            clock.follow(batch.now_ms)
        for subtask in subtasks:
            subtask.task.is_checkpoint = batch.is_checkpoint
            subtask.task.is_savepoint = batch.is_savepoint
            subtask.task.input_ms = batch.input_ms
            with self._stopwatch.within(subtask):
                subtask.begin_batch()

    def _receive(self, stage: int, rows: Iterable[tuple[int, int, bytes]], is_remote: bool) -> Iterator[Row]:
        gates = self._gates[stage]
        for source_slot, gate, payload in rows:
            subtask, base = gates[gate]
            subtask.gate.bytes_in += len(payload)
            subtask.gate.bytes_in_remote += len(payload) * is_remote
            with self._stopwatch.within(subtask):
                subtask.gate.receive(gate, source_slot - base, decode(payload))
            yield from self._take_rows()
        for subtask in self.stages[stage].values():
            with self._stopwatch.within(subtask):
                subtask.gate.flush()
        yield from self._take_rows()

    def _report(self, stage: int, committables: list[object], chain: Chain, number: int, stored: Stored) -> StageReport:
        subtasks = self.stages[stage].values()
        times = [time for subtask in subtasks if (time := subtask.next_processing_time()) is not None]
        reports = [
            replace(report, metrics=subtask.metrics())
            for report, subtask in zip(self.progress(stage), subtasks, strict=True)
        ]
        awaits = any(subtask.awaits_checkpoint for subtask in subtasks)
        next_time = min(times, default=None)
        return StageReport(stage, self._slot, reports, committables, next_time, chain, number, stored, awaits)

    def _read_source(self, subtask: Subtask, batch: BatchPlan) -> Iterator[Row]:
        source = subtask.source
        if source is None or source.has_ended:
            return
        reader = (subtask.task.vertex_id, subtask.task.subtask_index)
        chunks = subtask.read(batch.ranges.get(reader, ()), batch.idle.get(reader))
        while self._reads(subtask, chunks):
            yield from self._take_rows()
        if reader in batch.ended:
            with self._stopwatch.within(subtask):
                source.end()

    def _reads(self, subtask: Subtask, chunks: Iterator[None]) -> bool:
        """Let a source read its next chunk; return False if there was none."""
        with self._stopwatch.within(subtask):
            for _ in chunks:
                return True
        return False

    def _take_rows(self) -> Iterator[Row]:
        for rows, _ in self._rows.take():
            yield from rows

    def _write_version(self, stage: int, at: BatchTry, parent: Chain, batch: BatchPlan) -> Chain:
        """Write the version of a batch and return its files; they are durable if a checkpoint follows."""
        if self._store is None:
            return ()

        def frames(full: bool) -> Iterator[Frame]:
            for vertex_id, subtask in self.stages[stage].items():
                for operator_id, state in subtask.keyed_state(full):
                    yield vertex_id, operator_id, state
            for vertex_id, subtask in self.stages[stage].items():
                yield vertex_id, None, subtask.version()

        chain = self._store.write(stage, at, parent, frames, batch.in_full)
        if batch.is_checkpoint:
            self._store.make_durable(stage, chain)
        return chain

    def _store_for_checkpoint(self, stage: int, chain: Chain, parent: Chain, batch: BatchPlan) -> Stored:
        if self._store is None:
            return NOTHING_STORED
        wanted, unstored = (files.get((stage, self._slot), ()) for files in (batch.to_store, batch.unstored))
        return self._store.send(stage, chain, parent, wanted, unstored, batch.is_checkpoint, batch.waits_for_store)

    def turns(self) -> tuple[list[TaskInfo], TaskInfo | None]:
        """Return all subtasks, and the one that runs now, or None; may be called by other threads."""
        # Lists of dicts are made without a bytecode in between, so the main thread does not change them meanwhile.
        stages = list(self.stages.values())
        running = self._stopwatch.at_work
        tasks = [subtask.task for stage in stages for subtask in list(stage.values())]
        return tasks, None if running is None else running.task

    def progress(self, stage: int) -> list[SubtaskReport]:
        """Return the reports of a stage's subtasks."""
        return [
            SubtaskReport(
                s.task.vertex_id,
                s.task.subtask_index,
                s.records_in,
                s.records_out,
                s.has_ended,
                None if s.source is None else s.source.alignment_watermark,
                source_bytes=s.source_bytes,
            )
            for s in self.stages.get(stage, {}).values()
        ]


def _close_all(subtasks: Iterable[Subtask]) -> None:
    errors: list[BaseException] = []
    for subtask in subtasks:
        try:
            subtask.close()
        except USER_ERRORS as error:
            errors.append(error)
    if errors:
        raise errors[0]


def _split_of(edge: StageEdge, subtask: int, channels: Sequence[int]) -> edge_writer.Split:
    """Return the partitioner of an edge for one producing subtask."""
    partitioner = edge.edge.partitioner
    name, count = partitioner.name, len(channels)
    if name == "HASH" and partitioner.function is not None:
        return _split_columns(partitioner.function, max_parallelism_of(edge.target), count)
    if name == "HASH":
        select = edge_writer.select_by_key(_key_type_of(edge), max_parallelism_of(edge.target), count)
        return edge_writer.SplitBy(select, count)
    if name == "CUSTOM":
        return edge_writer.SplitBy(edge_writer.select_by_partitioner(partitioner.function, count), count)
    if name == "SHUFFLE":
        return edge_writer.Shuffle(count, seed=subtask)
    if name in ("REBALANCE", "RESCALE"):
        return edge_writer.RoundRobin(channels, subtask)
    return edge_writer.SplitToAll(channels[:1] if name == "GLOBAL" else channels)


def _split_columns(columns: tuple[int, ...], max_parallelism: int, channels: int) -> edge_writer.Split:
    from firesteel.operators.exchange.column_split import SplitColumns  # needs pyarrow, which only tables do

    return SplitColumns(columns, max_parallelism, channels)


def _key_type_of(edge: StageEdge) -> TypeInformation[object] | None:
    """Return the key type declared by the KeyByOperator at the producing end."""
    for node in edge.source.chain:
        if node.node_id == edge.edge.source_node_id:
            operator = node.operator
            parts = getattr(operator, "operators", (operator,))
            return getattr(parts[-1], "key_type", None)
    return None
