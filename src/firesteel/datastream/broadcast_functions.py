"""Functions over a stream and a broadcast stream: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from firesteel.datastream.function_base import Function
from firesteel.datastream.output_tag import SideOutput
from firesteel.datastream.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState
from firesteel.datastream.time_domain import TimeDomain
from firesteel.datastream.timerservice import TimerService

IN1 = TypeVar("IN1", contravariant=True)
IN2 = TypeVar("IN2", contravariant=True)
OUT = TypeVar("OUT", covariant=True)
KEY = TypeVar("KEY", contravariant=True)
K = TypeVar("K")
V = TypeVar("V")


class BaseBroadcastProcessFunction(Function):
    """What the keyed and the plain kind share."""

    class BaseContext(ABC):
        """What is known of any element."""

        @abstractmethod
        def timestamp(self) -> int:
            """Event time of the element."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Time of the machine."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Watermark of this operator."""

    class Context(BaseContext):
        """What is known of an element of the broadcast side."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
            """The broadcast state of that descriptor."""

    class ReadOnlyContext(BaseContext):
        """What is known of an element of the other side."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> ReadOnlyBroadcastState[K, V]:
            """The broadcast state of that descriptor, to read."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Any number of results per element of a stream and of a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """What is known of an element of the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """What is known of an element of the other side."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT | SideOutput] | None:
        """The results for the side that is not broadcast."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: BroadcastProcessFunction.Context
    ) -> Iterable[OUT | SideOutput] | None:
        """The results for the broadcast side."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Any number of results per element of a keyed stream and of a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """What is known of an element of the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """What is known of an element of the keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Timers and the present time."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Key of the element."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """What is known of the timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Kind of the timer."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT | SideOutput] | None:
        """The results for the keyed side."""

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterable[OUT | SideOutput] | None:
        """The results for the broadcast side."""

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterable[OUT | SideOutput] | None:
        """The results of a timer; none unless overridden."""
        return None
