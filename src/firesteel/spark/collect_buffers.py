"""Buffers for the output of collecting sinks until their clients have fetched it."""

from __future__ import annotations

import itertools
import json
import logging
import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firesteel.common.trust.pickling import pickled
from firesteel.common.values.size_estimate import SizeEstimate
from firesteel.functions.operator_descriptors import CollectSinkOperator
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.jobmaster.data_plane import ResultsLostError

logger = logging.getLogger(__name__)

_MOST_ELEMENTS = 100_000
_MOST_BYTES = 64 << 20
_MOST_AT_ONCE = 10_000
_MOST_BYTES_AT_ONCE = 4 << 20
_MOST_BUFFERS = 100
_MOST_LOST = 100_000
"""Maximum number of sinks with lost elements that are remembered, so that their clients get an error."""

_DROPPED = (
    f"more than {_MOST_BUFFERS} sinks had results that nobody fetched; fetch the results while the job runs, or write "
    "them with a sink"
)
_TAKEN_OVER = (
    "another JobManager has taken the job over, and results that the client had not fetched were lost; "
    "run the job again, or write the results with a sink, which loses none"
)
_COLLECTING_PROCESS = "collecting-process"
"""Name of the file in a job's directory that contains the name of the last collecting process."""


@dataclass(frozen=True, slots=True)
class CollectRequest:
    """A client's request for elements. Flink: `streaming.api.operators.collect.CollectCoordinationRequest`.

    Attributes:
        version: The version of the buffer that the offset refers to; empty if the client knows none.
        offset: Number of elements of that version that the client has.
    """

    version: str = ""
    offset: int = 0

    def to_bytes(self) -> bytes:
        """Return the request as JSON, which any authorized client can send safely."""
        return json.dumps([self.version, self.offset]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> CollectRequest:
        """Return the request encoded in bytes.

        Raises:
            ValueError: it is no request.
        """
        fields = json.loads(data)
        if not isinstance(fields, list) or list(map(type, fields)) != [str, int]:
            raise ValueError(f"a request is [version, offset], found {fields!r:.80}")
        return cls(*fields)


@dataclass(frozen=True, slots=True)
class CollectResponse:
    """The response to a request. Flink: `streaming.api.operators.collect.CollectCoordinationResponse`.

    Attributes:
        version: The version of the buffer. It differs from the requested one if a new buffer replaced an empty one.
        elements: The elements after the offset, or from the start of a new version.
    """

    version: str
    elements: list[Any]


@dataclass(slots=True)
class _Piece:
    """Elements that are fetched together, with their approximate size in bytes."""

    elements: list[Any] = field(default_factory=list)
    size: int = 0


@dataclass(slots=True)
class _Buffer:
    """The output of one sink that its client does not have yet; `fetched` counts the elements that the client has."""

    version: str
    fetched: int = 0
    pieces: deque[_Piece] = field(default_factory=deque)
    elements: int = 0
    size: int = 0

    @property
    def is_full(self) -> bool:
        return self.elements >= _MOST_ELEMENTS or self.size >= _MOST_BYTES

    def append(self, elements: list[Any]) -> None:
        """Add elements in pieces of bounded length and size."""
        sizes = SizeEstimate()
        sizes.add(elements)
        mean, start = sizes.mean(), 0
        most = max(1, min(_MOST_AT_ONCE, _MOST_BYTES_AT_ONCE // mean))
        while start < len(elements):
            last = self.pieces[-1] if self.pieces else None
            if last is None or len(last.elements) >= most or last.size >= _MOST_BYTES_AT_ONCE:
                last = _Piece()
                self.pieces.append(last)
            part = elements[start : start + most - len(last.elements)]
            last.elements += part
            last.size += mean * len(part)
            start += len(part)
        self.elements += len(elements)
        self.size += mean * len(elements)

    def acknowledge(self, offset: int) -> None:
        """Remove the elements before an offset, which the client has."""
        while self.fetched < offset and self.pieces:
            first = self.pieces[0]
            known = min(offset - self.fetched, len(first.elements))
            size = first.size * known // len(first.elements)
            del first.elements[:known]
            first.size -= size
            self.size -= size
            self.elements -= known
            self.fetched += known
            if not first.elements:
                self.pieces.popleft()


class CollectBuffers:
    """The buffers of a cluster's collecting sinks, filled by threads of runs and emptied by clients.

    The number of sinks with elements is limited. Beyond it the elements of the client that was inactive for the longest
    time are dropped, and that client gets an error.

    Elements are lost with their process, so a client also gets an error if another process has run its job. To detect
    this, versions begin with the name of their process, and a job's directory records the last one.
    """

    def __init__(self) -> None:
        self._process = uuid.uuid4().hex
        self._versions = itertools.count()
        self._changed = threading.Condition()
        self._buffers: OrderedDict[str, _Buffer] = OrderedDict()
        self._lost: OrderedDict[str, str] = OrderedDict()

    def begin(self, job_graph: JobGraph, directory: Path) -> None:
        """Start or continue to collect for a job.

        Args:
            job_graph: The job.
            directory: Its checkpoint directory, shared by all processes that may run the job.

        Raises:
            OSError: the directory is gone, or can't be written.
        """
        collect_ids = collect_ids_of(job_graph)
        if not collect_ids:
            return
        with self._changed:  # The regions of a job call this concurrently.
            if self._takes_over(directory / _COLLECTING_PROCESS):
                for collect_id in collect_ids:
                    self._buffers.pop(collect_id, None)
                    self._lose(collect_id, _TAKEN_OVER)

    def _takes_over(self, name: Path) -> bool:
        """Write the name of this process to a job's file; return whether another process was there before."""
        before = name.read_text() if name.exists() else None
        # A job that restarts in this process goes on with its buffers.
        if before == self._process:
            return False
        new = name.with_name(f"{name.name}.{self._process}")
        new.write_text(self._process)
        new.replace(name)
        return before is not None

    def put(self, collect_id: str, elements: list[Any], is_stopping: Callable[[], bool]) -> None:
        """Add elements; block while the client is far behind, until the run is being stopped.

        Elements for a client that has already lost some are dropped, so that the run continues.
        """
        with self._changed:
            if not elements or collect_id in self._lost:
                return
            buffer = self._buffer(collect_id)
            while buffer.is_full and not is_stopping():
                # With a timeout, as nobody notifies this when the run is being stopped.
                self._changed.wait(0.1)
                if collect_id in self._lost:
                    return
            self._buffers[collect_id] = buffer  # The buffer may have been emptied and removed while waiting.
            buffer.append(elements)
            self._limit(collect_id)
            self._changed.notify_all()

    def answer(self, collect_id: str, request: bytes) -> bytes:
        """Return the pickled response to the bytes of a request; see `fetch`.

        Raises:
            ValueError: it is no request.
            ResultsLostError: elements of the sink were dropped, or lost with another JobManager.
        """
        return pickled(self.fetch(collect_id, CollectRequest.from_bytes(request)))

    def fetch(self, collect_id: str, asked: CollectRequest, wait_s: float = 0) -> CollectResponse:
        """Return some elements, or none if none arrive in time; elements that the client has are removed.

        Raises:
            ResultsLostError: elements of the sink were dropped, or lost with another JobManager.
        """
        with self._changed:
            if asked.version and not asked.version.startswith(self._process):
                raise ResultsLostError(collect_id, _TAKEN_OVER)
            self._check_lost(collect_id)
            buffer = self._buffer(collect_id)
            if asked.version == buffer.version:
                buffer.acknowledge(asked.offset)
                self._changed.notify_all()
            if not buffer.pieces:
                self._changed.wait(wait_s)
                self._check_lost(collect_id)
            # They stay until the client acknowledges them by its next offset: this response may be lost.
            return CollectResponse(buffer.version, list(buffer.pieces[0].elements) if buffer.pieces else [])

    def wake(self) -> None:
        """Let waiting calls of `fetch` return, as a job has ended."""
        with self._changed:
            self._changed.notify_all()

    def _buffer(self, collect_id: str) -> _Buffer:
        if collect_id not in self._buffers:
            self._buffers[collect_id] = _Buffer(f"{self._process}-{next(self._versions)}")
        buffer = self._buffers[collect_id]
        self._buffers.move_to_end(collect_id)
        self._limit(collect_id)
        return buffer

    def _limit(self, in_use: str) -> None:
        """Drop buffers beyond the limit, empty ones first."""
        while len(self._buffers) > _MOST_BUFFERS:
            others = [collect_id for collect_id in self._buffers if collect_id != in_use]
            # Access moves a buffer to the end, so the first one was not asked for longest.
            oldest = next((collect_id for collect_id in others if not self._buffers[collect_id].pieces), others[0])
            if self._buffers.pop(oldest).pieces:
                logger.warning("the results of collecting sink %s are dropped, because no client fetched them", oldest)
                self._lose(oldest, _DROPPED)

    def _lose(self, collect_id: str, reason: str) -> None:
        self._lost[collect_id] = reason
        while len(self._lost) > _MOST_LOST:
            self._lost.popitem(last=False)

    def _check_lost(self, collect_id: str) -> None:
        if collect_id in self._lost:
            raise ResultsLostError(collect_id, self._lost[collect_id])


def collect_ids_of(job_graph: JobGraph) -> list[str]:
    """Return the ids of a job's collecting sinks."""
    operators = [operator.operator for vertex in job_graph.vertices for operator in vertex.chain]
    return [operator.collect_id for operator in operators if isinstance(operator, CollectSinkOperator)]


def limit_collecting_sinks(job_graph: JobGraph) -> None:
    """Let vertices of collecting sinks keep their parallelism if the job is rescaled, as the order of changes counts.

    In a vertex with other operators, a sink has the changes of some keys, in order.
    """
    for vertex in job_graph.vertices:
        if any(isinstance(head.operator, CollectSinkOperator) for head in vertex.chain[:1]):
            vertex.max_parallelism = vertex.parallelism
