"""Base classes of sources and sinks (module as `pyflink.datastream.connectors.base`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Generic, TypeVar

from firesteel.common.java_objects import WithoutJava
from firesteel.common.typeinfo import PickledBytesTypeInfo, TypeInformation
from firesteel.functions.source_reading import (
    ListedSplits,
    ListedSplitsReader,
    ReadingHints,
    SourceEnumerator,
    SourceReader,
    SourceReaderContext,
)
from firesteel.graph.transformations import PreCommitStep

__all__ = [
    "CommitRequest",
    "Committer",
    "DeliveryGuarantee",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceSplit",
    "StreamTransformer",
    "SupportsPreprocessing",
    "WriterInitContext",
]


T_in = TypeVar("T_in", contravariant=True)
T_out = TypeVar("T_out", covariant=True)


class DeliveryGuarantee(Enum):
    """The delivery guarantee of a sink in case of failures."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


@dataclass(frozen=True, slots=True)
class SourceSplit:
    """A part of a source that one subtask reads (Flink: `api.connector.source.SourceSplit`).

    Positions are stable: the record at a position stays the same, and `start` moves up when the oldest records are
    deleted.

    Attributes:
        split_id: Unique within the source and the same on every discovery, e.g. a partition or a file.
        end: End of the readable positions, exclusive. It may grow if the source is unbounded.
        start: The first position that can still be read.
        is_finished: `end` will not grow any more although the source is unbounded. After `end` the split no longer
            holds back watermarks.
        final_end: Only if the source has `grows_to_end`: the value that `end` reaches in time. The split is finished
            when it is reached; None means that it is `end`.

    Example:
        >>> SourceSplit("partition-0", end=100, start=20)
        SourceSplit(split_id='partition-0', end=100, start=20, is_finished=False, final_end=None)
    """

    split_id: str
    end: int
    start: int = 0
    is_finished: bool = False
    final_end: int | None = None


class Source(WithoutJava, Generic[T_out]):
    """A source of splits (FLIP-27). Derive from it to implement a source.

    Checkpoints contain positions, so a source is exactly-once if the same positions always give the same elements. A
    source must be picklable: open connections in `read_split` and keep them for later calls.

    Args:
        source: Only None is supported; PyFlink passes a Java object.

    Raises:
        NotImplementedError: the argument is not None.

    Example:
        >>> class Squares(Source):
        ...     def discover_splits(self):
        ...         return [SourceSplit("even", 10), SourceSplit("odd", 10)]
        ...     def read_split(self, split_id, start, end):
        ...         return [(2 * i + (split_id == "odd")) ** 2 for i in range(start, end)]
        >>> Squares().read_split("odd", 0, 3)
        [1, 9, 25]
    """

    discovery_interval_ms = 100
    """Interval in milliseconds at which splits are discovered, unless that happens only once."""

    grows_to_end = False
    """Whether the splits of this bounded source become readable over time, each up to its `final_end`.

    Their ends are then discovered at the interval until all are reached. In BATCH mode they are read at once.
    """

    reading_hints = ReadingHints(first_elements=64, unit="Records")
    """What the planner of batches should know; few first elements, as one may also have megabytes."""

    staging: Any = None
    """Of a table of Spark: the data to write before the job starts, see `firesteel.client.staged_data`."""

    def __init__(self, source: object = None) -> None:
        if source is not None:
            raise NotImplementedError(f"Java sources are not supported, found {source!r}; derive from Source in Python")

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """The default type of the elements, which `from_source` may override.

        Elements are pickled unless a source declares a type.
        """
        return PickledBytesTypeInfo()

    def is_bounded(self) -> bool:
        """Return whether the source is bounded. Its splits are discovered once, unless it has `grows_to_end`."""
        return True

    def discover_splits(self) -> Iterable[SourceSplit]:
        """Return all splits with their currently readable positions; called in the JobManager's process.

        If an unbounded source no longer returns a split, the split is finished: it is read to its end and then removed.
        """
        raise NotImplementedError(f"{type(self).__name__} has no discover_splits()")

    def read_split(self, split_id: str, start: int, end: int) -> Iterable[T_out]:
        """Return the elements at the positions from `start` to `end`, exclusive.

        A position may have no element or several.

        Args:
            split_id: Id of the split.
            start: First position, inclusive.
            end: Last position, exclusive.
        """
        raise NotImplementedError(f"{type(self).__name__} has no read_split(split_id, start, end)")

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator, which discovers splits in the JobManager's process.

        Override it, and `create_reader`, if `discover_splits` and `read_split` are not enough: for connections, splits
        whose positions are no numbers of elements, or elements with timestamps.

        Args:
            configuration: Options of the job.

        Raises:
            NotImplementedError: the source can't be read.
        """
        if type(self).read_split is Source.read_split:
            raise NotImplementedError(
                f"no reader for source {type(self).__name__}: a class derived from Source has discover_splits() and "
                "read_split(), or create_enumerator() and create_reader()"
            )
        return ListedSplits(self)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask.

        Args:
            context: The context of the subtask.
        """
        return ListedSplitsReader(self)

    def create_position_committer(self, configuration: Mapping[str, str]) -> Committer | None:
        """Return the committer of the positions that a checkpoint contains, or None.

        Args:
            configuration: Options of the job.
        """
        return None

    def in_sequence(self) -> tuple[Source[Any], ...]:
        """Return the sources to read one after the other: the source itself, unless it consists of several."""
        return (self,)


@dataclass(frozen=True, slots=True)
class WriterInitContext:
    """The context of a new writer (Flink: `api.connector.sink2.WriterInitContext`).

    Attributes:
        job_id: Id of the job; the same after a restart.
        sink_id: Id of the sink within the job; the same after a restart.
        subtask_index: From 0 to `parallelism` - 1.
        attempt_number: Number of restarts of the job.
        is_batch: Whether the job runs in BATCH mode. There, several attempts may write concurrently and only one of
            them is committed.
        input_type: Declared type of the elements.
        configuration: Configuration of the job.
        processing_time: Returns the current time in ms since the epoch.
        is_checkpoint: Returns at the end of a batch whether a checkpoint follows.
        is_savepoint: Returns at the end of a batch whether a savepoint follows that checkpoint. A savepoint outlives
            the job, so nothing that the writer's state refers to may be changed or removed later.
        began: Run, batch and attempt in which the writer was created; later writers have larger values. Uncommitted
            data is named by it, so that data of former writers can be recognised.
        spool_directory: Local directory for files that the writer's state refers to between two checkpoints. It
            survives a crash of the process, but not necessarily a restart of the job. Empty in BATCH mode.

    Example:
        >>> class LinesWriter(SinkWriter):
        ...     def __init__(self, context):
        ...         self.path = f"part-{context.subtask_index}"
        ...     def write(self, element, timestamp):
        ...         with open(self.path, "a") as file:
        ...             print(element, file=file)
        >>> class LinesSink(Sink):
        ...     def create_writer(self, context):
        ...         return LinesWriter(context)
    """

    job_id: str
    sink_id: str
    subtask_index: int
    parallelism: int
    attempt_number: int
    is_batch: bool
    input_type: TypeInformation[Any] | None
    configuration: dict[str, str]
    processing_time: Callable[[], int]
    is_checkpoint: Callable[[], bool] = lambda: True
    is_savepoint: Callable[[], bool] = lambda: False
    began: tuple[int, int, int] = (0, 0, 0)
    spool_directory: str = ""


class SinkWriter(Generic[T_in]):
    """Writes the elements of one subtask (Flink: `CommittingSinkWriter` and `StatefulSinkWriter` combined).

    At the end of each batch `flush`, `prepare_commit` and `snapshot_state` are called in this order. After a failure
    the elements since the last checkpoint are replayed to a new writer, which has restored the state of that
    checkpoint.

    Example:
        >>> class PrintWriter(SinkWriter):
        ...     def write(self, element, timestamp):
        ...         print("wrote", element)
        >>> class PrintSink(Sink):
        ...     def create_writer(self, context):
        ...         return PrintWriter()
        >>> _ = env.from_collection(["to", "be"], Types.STRING()).sink_to(PrintSink())
        >>> _ = run_local(env)
        wrote to
        wrote be
    """

    def write(self, element: T_in, timestamp: int | None) -> None:
        """Write one element.

        Args:
            element: The element.
            timestamp: Its timestamp in ms since the epoch; None if it has none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no write(element, timestamp)")

    def write_all(self, elements: Sequence[T_in], timestamps: Sequence[int | None] | None) -> None:
        """Write several elements; override it if that is faster than one call per element.

        Args:
            elements: Elements in their order.
            timestamps: Milliseconds since the epoch, one for each element; None if no element has a timestamp.
        """
        for position, element in enumerate(elements):
            self.write(element, None if timestamps is None else timestamps[position])

    def write_watermark(self, watermark: int) -> None:
        """Take note of a watermark; override it if what is written depends on event time.

        Args:
            watermark: Milliseconds since the epoch: no earlier elements follow, unless they are late.
        """

    def flush(self, end_of_input: bool) -> None:
        """Write buffered elements, at the end of each batch; this makes a sink without a committer at-least-once.

        Args:
            end_of_input: Whether no more elements follow. In BATCH mode this is the only call.
        """

    def next_flush_ms(self) -> int | None:
        """Return the processing time (ms) at which `flush` has work to do even without elements, or None."""
        return None

    @property
    def awaits_checkpoint(self) -> bool:
        """Whether something becomes visible with a later checkpoint even if no elements come."""
        return False

    def prepare_commit(self) -> Sequence[Any]:
        """Return the committables of what was written since the last call, as picklable objects."""
        return ()

    def snapshot_state(self) -> Any:
        """Return the state for `restore_state`; None if there is none."""
        return None

    def begin_after(self, states: Sequence[Any]) -> None:
        """Note the states of all writers before the parallelism changed; called before `restore_state`.

        A writer that numbers what it writes goes on after the largest number of them all: its subtask may have existed
        before, so that its own numbers may be in use.

        Args:
            states: Results of `snapshot_state`.
        """

    def restore_state(self, state: Any) -> None:
        """Restore a state; called once per former state if the job was restarted with fewer subtasks.

        Args:
            state: A result of `snapshot_state`.
        """

    def close(self) -> None:
        """Release resources; called even after a failure."""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """A committable (Flink: `api.connector.sink2.Committer.CommitRequest`).

    The other fields identify it. They stay the same when it is committed again because the outcome of the first attempt
    is unknown.

    Attributes:
        job_id: Id of the job that wrote it.
        sink_id: Id of the sink within the job.
        subtask_index: Index of the writer's subtask.
        number: Sequence number of the writer's committables, from 0.
        committable: The object that `SinkWriter.prepare_commit` returned.

    Example:
        >>> class PrintCommitter(Committer):
        ...     def commit(self, requests):
        ...         for request in requests:
        ...             print(f"{request.sink_id}/{request.subtask_index}/{request.number}: {request.committable}")
        >>> PrintCommitter().commit([CommitRequest("job", "sink", 0, 7, "file-7")])
        sink/0/7: file-7
    """

    job_id: str
    sink_id: str
    subtask_index: int
    number: int
    committable: Any


class Committer:
    """Commits what the writers of a sink prepared (Flink: `api.connector.sink2.Committer`).

    It runs in the JobManager's process and must be picklable: open connections in `commit`.

    Attributes:
        commits_data: Whether committables are made of plain values (numbers, texts, lists, dictionaries, ...) and
            classes of firesteel alone. Then nothing else is read from checkpoints, and no pickle. False reads what the
            program's own classes need.

    Example:
        >>> class PublishFiles(Committer):
        ...     def commit(self, requests):
        ...         from pathlib import Path
        ...         for request in requests:
        ...             staged = Path(request.committable)
        ...             if staged.exists():
        ...                 staged.rename(staged.with_suffix(".csv"))
    """

    commits_data: ClassVar[bool] = False

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Set the configuration of the job; called once, before any other method.

        Args:
            configuration: Options of the job by key.
        """

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Raise an error if the requests cannot be committed, without changing anything.

        This is called before a checkpoint is completed. Requests of a completed checkpoint are retried until they
        succeed, so a request that can never succeed must be rejected here. Flink has no such step.

        Args:
            requests: Committables of all subtasks for one checkpoint.
        """

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Commit what all writers prepared for one checkpoint (in BATCH mode: for the job).

        Committing a request again must have no effect. An error fails the job, which retries the same requests after a
        restart.

        Args:
            requests: Committables of all subtasks.
        """
        raise NotImplementedError(f"{type(self).__name__} has no commit(requests)")

    def close(self) -> None:
        """Release resources; called once at the end of each run of the job, also after a failure."""


class Sink(WithoutJava, Generic[T_in]):
    """A sink of records. Derive from it to implement a sink.

    `create_writer` returns the writer. A two-phase sink also has `create_committer`: what was written takes effect only
    when it is committed (Flink: `api.connector.sink2.Sink`, `SupportsCommitter`).

    Args:
        sink: Only None is supported; PyFlink passes a Java object.

    Raises:
        NotImplementedError: the argument is not None.

    Example:
        >>> class LogWriter(SinkWriter):
        ...     def __init__(self):
        ...         self.lines = []
        ...     def write(self, element, timestamp):
        ...         self.lines.append(str(element))
        ...     def prepare_commit(self):
        ...         lines, self.lines = self.lines, []
        ...         return [lines]
        >>> class LogCommitter(Committer):
        ...     def commit(self, requests):
        ...         for request in requests:
        ...             print(request.number, request.committable)
        >>> class LogSink(Sink):
        ...     def create_writer(self, context):
        ...         return LogWriter()
        ...     def create_committer(self):
        ...         return LogCommitter()
        >>> words = env.from_collection(["to", "be"], Types.STRING())
        >>> _ = words.sink_to(LogSink())
        >>> _ = run_local(env)
        0 ['to', 'be']
    """

    def __init__(self, sink: object = None) -> None:
        if sink is not None:
            raise NotImplementedError(f"Java sinks are not supported, found {sink!r}; derive from Sink in Python")

    def is_two_phase(self) -> bool:
        """Return whether written data takes effect only when it is committed, i.e. `create_committer` is defined."""
        return type(self).create_committer is not Sink.create_committer

    def pre_commit_topology(self) -> tuple[PreCommitStep, ...]:
        """Return the operators between writers and committers (Flink: `SupportsPreCommitTopology`)."""
        return ()

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T_in]:
        """Return the writer of one subtask.

        Args:
            context: Ids, configuration and parallelism of the subtask.

        Raises:
            NotImplementedError: the class does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no writer: define create_writer(context)")

    def create_committer(self) -> Committer:
        """Return the committer for all subtasks.

        Raises:
            NotImplementedError: the class does not define it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no committer: define create_committer()")


class StreamTransformer(ABC):
    """Transforms a stream in front of a sink.

    Example:
        >>> class InUpperCase(StreamTransformer):
        ...     def apply(self, ds):
        ...         return ds.map(str.upper, Types.STRING())
    """

    @abstractmethod
    def apply(self, ds: object) -> Any:
        """Return the transformed stream.

        Args:
            ds: The `DataStream` that is written to the sink.

        Returns:
            A `DataStream`; its elements are written instead.
        """


class SupportsPreprocessing(ABC):
    """A sink that transforms its input stream first.

    Example:
        >>> class InUpperCase(StreamTransformer):
        ...     def apply(self, ds):
        ...         return ds.map(str.upper, Types.STRING())
        >>> class PrintWriter(SinkWriter):
        ...     def write(self, element, timestamp):
        ...         print(element)
        >>> class UpperCaseSink(Sink, SupportsPreprocessing):
        ...     def get_transformer(self):
        ...         return InUpperCase()
        ...     def create_writer(self, context):
        ...         return PrintWriter()
        >>> _ = env.from_collection(["to", "be"], Types.STRING()).sink_to(UpperCaseSink())
        >>> _ = run_local(env)
        TO
        BE
    """

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """Return the transformer of the input stream; None leaves the stream unchanged."""
