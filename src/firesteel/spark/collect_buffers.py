"""What collecting sinks put out, until their clients have fetched it."""

from __future__ import annotations

import itertools
import json
import threading
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from firesteel.operators.buffers import pickled

_MOST_ELEMENTS = 100_000
_MOST_AT_ONCE = 10_000
_MOST_BUFFERS = 100


@dataclass(frozen=True, slots=True)
class CollectRequest:
    """A client's question. Flink: `streaming.api.operators.collect.CollectCoordinationRequest`.

    Attributes:
        version: Of the buffer that the offset is of; empty at first.
        offset: How many elements of it the client has.
    """

    version: str = ""
    offset: int = 0

    def to_bytes(self) -> bytes:
        """As it is sent: JSON, since everybody who may ask sends one."""
        return json.dumps([self.version, self.offset]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> CollectRequest:
        """What was sent.

        Raises:
            ValueError: it is no request.
        """
        fields = json.loads(data)
        if not isinstance(fields, list) or list(map(type, fields)) != [str, int]:
            raise ValueError(f"a request is [version, offset], found {fields!r:.80}")
        return cls(*fields)


@dataclass(frozen=True, slots=True)
class CollectResponse:
    """The answer. Flink: `streaming.api.operators.collect.CollectCoordinationResponse`.

    Attributes:
        version: Another one than asked for is of another JobManager: what the former had is gone.
        elements: Those behind the offset, of a new version behind 0.
    """

    version: str
    elements: list[Any]


@dataclass(slots=True)
class _Buffer:
    version: str = field(default_factory=lambda: uuid.uuid4().hex)
    fetched: int = 0
    elements: deque[Any] = field(default_factory=deque)


class CollectBuffers:
    """Keeps the elements of a cluster's collecting sinks: threads of runs put them, clients fetch them.

    Of clients that never came again the oldest are forgotten.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._buffers: OrderedDict[str, _Buffer] = OrderedDict()

    def put(self, collect_id: str, elements: list[Any], is_stopping: Callable[[], bool]) -> None:
        """Keep elements; waits while the client is far behind, until the run is to stop."""
        with self._changed:
            buffer = self._buffer(collect_id)
            while len(buffer.elements) >= _MOST_ELEMENTS and not is_stopping():
                self._changed.wait(0.1)
            buffer.elements.extend(elements)
            self._changed.notify_all()

    def answer(self, collect_id: str, request: bytes) -> bytes:
        """As `fetch`, with a pickled answer to what `CollectRequest.to_bytes` gave.

        Raises:
            ValueError: it is no request.
        """
        return pickled(self.fetch(collect_id, CollectRequest.from_bytes(request)))

    def fetch(self, collect_id: str, asked: CollectRequest, wait_s: float = 0) -> CollectResponse:
        """Some elements, or none if none come in time; what the client has is forgotten."""
        with self._changed:
            buffer = self._buffer(collect_id)
            if asked.version == buffer.version:
                while buffer.fetched < asked.offset and buffer.elements:
                    buffer.elements.popleft()
                    buffer.fetched += 1
                self._changed.notify_all()
            if not buffer.elements:
                self._changed.wait(wait_s)
            return CollectResponse(buffer.version, list(itertools.islice(buffer.elements, _MOST_AT_ONCE)))

    def _buffer(self, collect_id: str) -> _Buffer:
        buffer = self._buffers.setdefault(collect_id, _Buffer())
        self._buffers.move_to_end(collect_id)
        if len(self._buffers) > _MOST_BUFFERS:
            self._buffers.popitem(last=False)
        return buffer
