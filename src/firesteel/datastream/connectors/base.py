"""Sources and sinks (module as `pyflink.datastream.connectors.base`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

__all__ = ["DeliveryGuarantee", "Sink", "Source", "StreamTransformer", "SupportsPreprocessing"]


class DeliveryGuarantee(Enum):
    """How often a record reaches what lies behind the sink, failures included."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class Source:
    """Something that splits can be read from (FLIP-27)."""

    def __init__(self, source: Any = None) -> None:
        if source is not None:
            raise NotImplementedError(f"Java sources are not available, found {source!r}; derive from Source in Python")

    def is_bounded(self) -> bool:
        """True if it ends by itself."""
        return True


class Sink:
    """Something that records are written to."""

    def __init__(self, sink: Any = None) -> None:
        if sink is not None:
            raise NotImplementedError(f"Java sinks are not available, found {sink!r}; derive from Sink in Python")

    def is_two_phase(self) -> bool:
        """True if what was written counts only once it is committed."""
        return False


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
