"""Committables: actions that sinks request for the time after a batch or checkpoint is decided.

The driver carries out committables. Durable ones wait for the next checkpoint.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

from firesteel.common.trust.frame_seal import RecordSeal, sealed_records
from firesteel.common.trust.pickling import pickled
from firesteel.errors import FiresteelError
from firesteel.functions.connector_base import CommitRequest, Committer

OUTPUT_BYTES = 256 * 1024
"""Largest output of a sink per batch that is sent inline with the batch's reports; more goes through a file."""


class Driver(Protocol):
    """The process that runs the job's batches and carries out committables."""

    def print(self, text: str) -> None:
        """Write the lines of a print sink to standard output."""

    def collect(self, collect_id: str, elements: list[Any]) -> None:
        """Deliver elements to the client that requested them."""

    def committer(self, sink_id: str) -> Committer:
        """Return the committer of a sink of the job."""
        ...


class Committable(Protocol):
    """An action that a sink requests.

    Attributes:
        is_durable: Whether its effect outlives the process, so that it must be carried out exactly once and only after
        it is decided.
    """

    is_durable: ClassVar[bool]

    def hand_to(self, driver: Driver) -> None:
        """Carry out the action with the driver."""


@dataclass(frozen=True, slots=True)
class PrintedLines:
    """Lines of a print sink."""

    is_durable: ClassVar[bool] = False
    text: str

    def hand_to(self, driver: Driver) -> None:
        """Print the lines."""
        driver.print(self.text)


@dataclass(frozen=True, slots=True)
class CollectedElements:
    """Elements of a collecting sink, addressed to the client with `collect_id`."""

    is_durable: ClassVar[bool] = False
    collect_id: str
    elements: list[Any]

    def hand_to(self, driver: Driver) -> None:
        """Deliver the elements to the client."""
        driver.collect(self.collect_id, self.elements)


@dataclass(frozen=True, slots=True)
class OutputFile:
    """Committables too large to be sent inline with the reports of a batch, in a file on shared storage.

    Attributes:
        path: The file.
        length: Its size in bytes.
        key: Proves that the job has written it, see `RecordSeal`.
    """

    is_durable: ClassVar[bool] = False
    path: str
    length: int
    key: bytes = field(default=b"", repr=False)

    def hand_to(self, driver: Driver) -> None:
        """Carry out the committables in order; the file is kept while they may have to be replayed.

        Raises:
            OutputFileError: the file is missing or incomplete.
            SealBrokenError: somebody else has written to the file.
        """
        path = Path(self.path)
        if not path.exists() or path.stat().st_size != self.length:
            raise OutputFileError(self.path, self.length)
        with path.open("rb") as file:
            for record in sealed_records(file, self.key):
                committable: Committable = pickle.loads(record)
                committable.hand_to(driver)


class OutputFileError(FiresteelError):
    """Sink output is missing; the job's checkpoint directory must be shared by all machines."""

    def __init__(self, path: str, length: int) -> None:
        super().__init__(path, length)

    def __str__(self) -> str:
        return f"output file {self.args[0]!r} of {self.args[1]} bytes is missing or incomplete"


def remove_files(committables: Iterable[Committable]) -> None:
    """Remove the files of output that was delivered."""
    for committable in committables:
        if isinstance(committable, OutputFile):
            Path(committable.path).unlink(missing_ok=True)


class OutputBuffer:
    """A buffer for the committables of a sink until the end of the batch, in memory or, if large, in a file.

    Args:
        directory: The directory for the file; if empty, everything stays in memory.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._kept: list[Committable] = []
        self._kept_bytes = 0
        self._path: Path | None = None
        self._seal = RecordSeal()
        self._length = 0

    def add(self, committable: Committable, size: int) -> None:
        """Add a committable of about `size` bytes."""
        self._kept.append(committable)
        self._kept_bytes += size
        if self._kept_bytes > OUTPUT_BYTES and self._directory:
            self._write()

    def _write(self) -> None:
        if self._path is None:
            # Create only the last level: if the directory of the run is gone, the run is over.
            Path(self._directory).mkdir(exist_ok=True)
            # The name is unique, because another attempt of the same batch writes another file.
            self._path = Path(self._directory) / uuid.uuid4().hex
            self._seal = RecordSeal()
        with self._path.open("ab") as file:
            for committable in self._kept:
                file.write(self._seal.sealed(pickled(committable)))
            self._length = file.tell()
        self._kept, self._kept_bytes = [], 0

    def take(self) -> tuple[Committable, ...]:
        """Return the committables added since the last call, in order."""
        kept, self._kept, self._kept_bytes = self._kept, [], 0
        if self._path is None:
            return tuple(kept)
        written, self._path = OutputFile(str(self._path), self._length, self._seal.key), None
        # In this order: what is in memory was added after the last write to the file.
        return (written, *kept)

    def close(self) -> None:
        """Discard the committables that were not taken."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None


@dataclass(frozen=True, slots=True)
class SinkCommittables:
    """The committables that one subtask of a two-phase sink prepared.

    It is written to checkpoints, so it does not contain the committer, which may hold a password.
    """

    is_durable: ClassVar[bool] = True
    sink_id: str
    sink_name: str
    requests: tuple[CommitRequest, ...]

    def hand_to(self, driver: Driver) -> None:
        """Commit the requests with the sink's committer.

        Raises:
            SinkCommitError: the committer raised.
            SinkNotFoundError: the job has no such sink.
        """
        _with_sink_named(self, driver.committer(self.sink_id).commit)


class SinkCommitError(FiresteelError):
    """Committing the prepared data of a sink failed; the commit is retried when the job restarts."""

    def __init__(self, sink_name: str, requests: int, error: Exception) -> None:
        super().__init__(sink_name, requests, error)
        self.sink_name = sink_name
        self.requests = requests
        self.error = error

    def __str__(self) -> str:
        text = " ".join(str(self.error).split())
        return f"sink {self.sink_name!r}: could not commit: {type(self.error).__name__}: {text}"


def check(committables: Iterable[Committable], committer: Callable[[str], Committer]) -> None:
    """Let the committers validate their requests before the checkpoint is decided.

    Args:
        committables: The committables of the checkpoint.
        committer: Returns the committer of a sink by its id.

    Raises:
        SinkCommitError: a committer rejects its requests.
    """
    for part in _by_sink(committables)[0]:
        _with_sink_named(part, committer(part.sink_id).check)


def carry_out(committables: Iterable[Committable], driver: Driver) -> None:
    """Carry out all committables: one commit per sink for all its subtasks, then the rest in order."""
    of_sinks, rest = _by_sink(committables)
    for committable in [*of_sinks, *rest]:
        committable.hand_to(driver)


def _by_sink(committables: Iterable[Committable]) -> tuple[list[SinkCommittables], list[Committable]]:
    """Merge the committables of all subtasks of each sink; return them and the remaining committables."""
    of_sink: dict[str, list[SinkCommittables]] = {}
    rest: list[Committable] = []
    for committable in committables:
        if isinstance(committable, SinkCommittables):
            of_sink.setdefault(committable.sink_id, []).append(committable)
        else:
            rest.append(committable)
    together = [
        replace(parts[0], requests=tuple(request for part in parts for request in part.requests))
        for parts in of_sink.values()
    ]
    return together, rest


def _with_sink_named(part: SinkCommittables, call: Callable[[Sequence[CommitRequest]], None]) -> None:
    try:
        call(part.requests)
    except Exception as error:
        raise SinkCommitError(part.sink_name, len(part.requests), error) from error
