"""Functions over the elements of a window: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from firesteel.datastream.function_base import Function
from firesteel.datastream.runtime_context import KeyedStateStore
from firesteel.datastream.windows import Window

IN = TypeVar("IN", contravariant=True)
OUT = TypeVar("OUT", covariant=True)
KEY = TypeVar("KEY", contravariant=True)
W = TypeVar("W", bound=Window)
W2 = TypeVar("W2", bound=Window)


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Results of a keyed window."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The results; called each time the window fires."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Results of a window over all elements."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT]:
        """The results; called each time the window fires."""


class _WindowContext(ABC, Generic[W2]):
    @abstractmethod
    def window(self) -> W2:
        """The window."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """State of this key and window; to be removed in `clear`."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """State of this key over all windows."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Results of a keyed window, with time and state."""

    class Context(_WindowContext[W2], ABC):
        """What is known of the window."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Time of the machine."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Watermark of this operator."""

    @abstractmethod
    def process(self, key: KEY, context: ProcessWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """The results; called each time the window fires."""

    def clear(self, context: ProcessWindowFunction.Context[Any]) -> None:
        """Called when the window is removed; clear what you keep in `window_state`."""


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Results of a window over all elements, with state."""

    class Context(_WindowContext[W2], ABC):
        """What is known of the window."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[W], elements: Iterable[IN]) -> Iterable[OUT]:
        """The results; called each time the window fires."""

    def clear(self, context: ProcessAllWindowFunction.Context[Any]) -> None:
        """Called when the window is removed; clear what you keep in `window_state`."""
