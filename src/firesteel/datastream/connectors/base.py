"""Sources and sinks (module as `pyflink.datastream.connectors.base`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from firesteel.common.java_objects import WithoutJava
from firesteel.common.typeinfo import PickledBytesTypeInfo, TypeInformation
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
    """How often a record reaches what lies behind the sink, failures included."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


@dataclass(frozen=True, slots=True)
class SourceSplit:
    """A part of a source that one subtask reads (Flink: `api.connector.source.SourceSplit`).

    Positions count from the beginning of the split for good: `start` moves up when the oldest records are deleted, and
    the record at a position stays the same.

    Attributes:
        split_id: Unique within the source, the same whenever it is discovered: a partition, a file.
        end: Positions from `start` up to this one, exclusive, can be read by now. Of an unbounded source it may grow.
        start: The first position that can still be read.
        is_finished: `end` never grows again, although the source is unbounded: after it the split holds no watermark
            back.
    """

    split_id: str
    end: int
    start: int = 0
    is_finished: bool = False


class Source(WithoutJava, Generic[T_out]):
    """Something that splits can be read from (FLIP-27). Derive from it to read what firesteel has no source for.

    Positions are kept in checkpoints, so a source is read exactly once if the same positions always give the same
    elements. It must be picklable: connect in `read_split`, and keep the connection if it is to be used again.

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
    """How often an unbounded source is asked for its splits (milliseconds)."""

    def __init__(self, source: Any = None) -> None:
        if source is not None:
            raise NotImplementedError(f"Java sources are not available, found {source!r}; derive from Source in Python")

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the elements where `from_source` is told none; pickled values unless a source knows better."""
        return PickledBytesTypeInfo()

    def is_bounded(self) -> bool:
        """True if it ends by itself: then its splits are discovered once."""
        return True

    def discover_splits(self) -> Sequence[SourceSplit]:
        """Return all splits, with how far they can be read by now; called in the process of the JobManager.

        A split that an unbounded source no longer returns is finished: the rest of it is read, then it is forgotten.
        """
        raise NotImplementedError(f"{type(self).__name__} has no discover_splits()")

    def read_split(self, split_id: str, start: int, end: int) -> Iterable[T_out]:
        """The elements at the positions from `start` to `end`, exclusive; a position may have none or several."""
        raise NotImplementedError(f"{type(self).__name__} has no read_split(split_id, start, end)")


@dataclass(frozen=True, slots=True)
class WriterInitContext:
    """Who a writer is (Flink: `api.connector.sink2.WriterInitContext`).

    Attributes:
        job_id: Of the job; the same after a restart.
        sink_id: Of the sink within the job; the same after a restart.
        subtask_index: From 0 to `parallelism` - 1.
        attempt_number: How often the job was restarted.
        is_batch: In BATCH mode several attempts may write at once; only one of them is committed.
        input_type: Declared type of the elements.
        configuration: Of the job.
        processing_time: Gives the current time (ms).
        is_checkpoint: Says at the end of a batch whether a checkpoint follows it.
        is_savepoint: Says at the end of a batch whether a savepoint follows that checkpoint. Others may remove what the
            job goes on to write, so nothing that the writer's state refers to may be changed or removed later.
        began: Run, batch and try in which the writer is made; a writer that is made later has a larger one. What is
            written and not yet decided is named by it, so that writers that are not alive any more can be told apart.
        spool_directory: On the disk of this host, for files that the writer's state refers to between two checkpoints:
            there after the process was killed, not always after the job was restarted. Empty in BATCH mode.
    """

    job_id: str
    sink_id: str
    subtask_index: int
    parallelism: int
    attempt_number: int
    is_batch: bool
    input_type: Any
    configuration: dict[str, str]
    processing_time: Callable[[], int]
    is_checkpoint: Callable[[], bool] = lambda: True
    is_savepoint: Callable[[], bool] = lambda: False
    began: tuple[int, int, int] = (0, 0, 0)
    spool_directory: str = ""


class SinkWriter(Generic[T_in]):
    """Writes the elements of one subtask (Flink: `CommittingSinkWriter` and `StatefulSinkWriter` in one).

    At the end of each batch `flush`, `prepare_commit` and `snapshot_state` are called in this order. After a failure
    the elements since the last checkpoint come again, to a new writer that got that checkpoint's state.
    """

    def write(self, element: T_in, timestamp: int | None) -> None:
        """Take one element and its event time (ms), None if it has none."""
        raise NotImplementedError(f"{type(self).__name__} has no write(element, timestamp)")

    def write_all(self, elements: Sequence[T_in], timestamps: Sequence[int | None] | None) -> None:
        """Take several elements; `timestamps` is None if none has one."""
        for position, element in enumerate(elements):
            self.write(element, None if timestamps is None else timestamps[position])

    def flush(self, end_of_input: bool) -> None:
        """Write what is held back. A sink without committer writes at least once by it."""

    def prepare_commit(self) -> Sequence[Any]:
        """What is to be committed of what was written since the last call: any objects that can be pickled."""
        return ()

    def snapshot_state(self) -> Any:
        """What `restore_state` needs to go on from here; None if that is nothing."""
        return None

    def restore_state(self, state: Any) -> None:
        """Go on from there; called again for each further state where the job came back with fewer subtasks."""

    def close(self) -> None:
        """Release what the writer holds; also after a failure."""


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """One committable (Flink: `api.connector.sink2.Committer.CommitRequest`).

    The other fields identify it: they are the same if it is to be committed again because nobody knows whether it was.

    Attributes:
        job_id: Of the job that wrote it.
        sink_id: Of the sink within the job.
        subtask_index: Of its writer.
        number: Counts the committables of its writer, from 0.
        committable: What `SinkWriter.prepare_commit` gave.
    """

    job_id: str
    sink_id: str
    subtask_index: int
    number: int
    committable: Any


class Committer:
    """Makes visible what the writers of a sink prepared (Flink: `api.connector.sink2.Committer`).

    Runs in the process of the JobManager. It must be picklable: connect in `commit`.
    """

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Take the configuration of the job; called once, before anything else."""

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Raise if the requests can't be committed, without changing anything.

        Called before a checkpoint is decided. Once it is decided, its requests are committed again and again until
        that succeeds, so a request that can never succeed must be refused here. Flink has no such step.
        """

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Commit what all writers prepared for one checkpoint (in BATCH mode: for the job).

        Requests that were committed before may come again and must then change nothing. An error fails the job, which
        goes on with the same requests when it is restarted.
        """
        raise NotImplementedError(f"{type(self).__name__} has no commit(requests)")


class Sink(WithoutJava, Generic[T_in]):
    """Something that records are written to.

    Derive from it to write a sink: `create_writer` gives what writes, and `create_committer`, where what was written
    must count only once it is committed, what commits (Flink: `api.connector.sink2.Sink`, `SupportsCommitter`).

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
        >>> stream.sink_to(LogSink())
    """

    def __init__(self, sink: Any = None) -> None:
        if sink is not None:
            raise NotImplementedError(f"Java sinks are not available, found {sink!r}; derive from Sink in Python")

    def is_two_phase(self) -> bool:
        """True if what was written counts only once it is committed: there is a `create_committer`."""
        return type(self).create_committer is not Sink.create_committer

    def pre_commit_topology(self) -> tuple[PreCommitStep, ...]:
        """The operators that committables pass on their way to the committers (Flink: `SupportsPreCommitTopology`)."""
        return ()

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T_in]:
        """The writer of one subtask.

        Raises:
            NotImplementedError: the class has none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no writer: define create_writer(context)")

    def create_committer(self) -> Committer:
        """What commits for all subtasks.

        Raises:
            NotImplementedError: the class has none.
        """
        raise NotImplementedError(f"{type(self).__name__} has no committer: define create_committer()")


class StreamTransformer(ABC):
    """Changes a stream before it reaches a sink."""

    @abstractmethod
    def apply(self, ds: Any) -> Any:
        """The changed stream."""


class SupportsPreprocessing(ABC):
    """A sink that changes the stream first."""

    @abstractmethod
    def get_transformer(self) -> StreamTransformer | None:
        """What changes it; None leaves it."""
