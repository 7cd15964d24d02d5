"""Functions of a stream and a broadcast stream: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from firesteel.functions.function_base import Function
from firesteel.functions.output_tag import SideOutput
from firesteel.functions.state import BroadcastState, MapStateDescriptor, ReadOnlyBroadcastState
from firesteel.functions.time_domain import TimeDomain
from firesteel.functions.timerservice import TimerService

IN1 = TypeVar("IN1", contravariant=True)
IN2 = TypeVar("IN2", contravariant=True)
OUT = TypeVar("OUT", covariant=True)
KEY = TypeVar("KEY", contravariant=True)
K = TypeVar("K")
V = TypeVar("V")


class BaseBroadcastProcessFunction(Function):
    """The base class of keyed and non-keyed broadcast process functions.

    Example:
        >>> issubclass(KeyedBroadcastProcessFunction, BaseBroadcastProcessFunction)
        True
    """

    class BaseContext(ABC):
        """The context of an element of either side."""

        @abstractmethod
        def timestamp(self) -> int:
            """Return the timestamp of the element in ms since the epoch."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """Return the current processing time in ms since the epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """Return the current watermark of this operator in ms since the epoch."""

    class Context(BaseContext):
        """The context of an element of the broadcast side."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> BroadcastState[K, V]:
            """Return a broadcast state, writable.

            Args:
                state_descriptor: A descriptor that was passed to `broadcast`; only its name counts.

            Raises:
                ValueError: no state of this name was passed to `broadcast`.
            """

    class ReadOnlyContext(BaseContext):
        """The context of an element of the non-broadcast side."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor[K, V]) -> ReadOnlyBroadcastState[K, V]:
            """Return a broadcast state, read-only: changing it raises a `RuntimeError`.

            Args:
                state_descriptor: A descriptor that was passed to `broadcast`; only its name counts.

            Raises:
                ValueError: no state of this name was passed to `broadcast`.
            """


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """A function that returns any number of results per element of a stream and of a broadcast stream.

    Example:
        >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.INT())
        >>> class AboveLimit(BroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         if value > (ctx.get_broadcast_state(limits).get("limit") or 0):
        ...             yield value
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(limits).put("limit", value)
        >>> numbers, limit = env.from_collection([5, 20], Types.INT()), env.from_collection([10], Types.INT())
        >>> above = numbers.connect(limit.broadcast(limits)).process(AboveLimit(), Types.INT())
    """

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of an element of the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of an element of the non-broadcast side."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element of the non-broadcast side.

        Args:
            value: An element of the stream that is not broadcast.
            ctx: Access to its timestamp, to time and, for reading, to broadcast state.
        """

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: BroadcastProcessFunction.Context
    ) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element of the broadcast side.

        Args:
            value: An element of the broadcast stream.
            ctx: Access to its timestamp, to time and to broadcast state.
        """


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """A function that returns any number of results per element of a keyed stream and of a broadcast stream.

    Example:
        >>> names = MapStateDescriptor("names", Types.INT(), Types.STRING())
        >>> class WithName(KeyedBroadcastProcessFunction):
        ...     def process_element(self, value, ctx):
        ...         yield ctx.get_broadcast_state(names).get(ctx.get_current_key()), value[1]
        ...     def process_broadcast_element(self, value, ctx):
        ...         ctx.get_broadcast_state(names).put(*value)
        >>> orders = env.from_collection([(7, 30)], Types.TUPLE([Types.INT(), Types.INT()]))
        >>> users = env.from_collection([(7, "Ann")], Types.TUPLE([Types.INT(), Types.STRING()]))
        >>> connected = orders.key_by(lambda order: order[0], Types.INT()).connect(users.broadcast(names))
        >>> named = connected.process(WithName(), Types.TUPLE([Types.STRING(), Types.INT()]))
    """

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """The context of an element of the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """The context of an element of the keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Return the timer service, which also gives the current time."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """Return the key of the element."""

    class OnTimerContext(ReadOnlyContext, ABC):
        """The context of a timer."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Return whether the timer is an event-time or a processing-time timer."""

    @abstractmethod
    def process_element(
        self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element of the keyed side.

        Args:
            value: An element of the keyed stream.
            ctx: Access to its key and timestamp, to timers and, for reading, to broadcast state.
        """

    @abstractmethod
    def process_broadcast_element(
        self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterable[OUT | SideOutput] | None:
        """Return the results for an element of the broadcast side.

        Args:
            value: An element of the broadcast stream.
            ctx: Access to its timestamp, to time and to broadcast state; there is no current key.
        """

    def on_timer(
        self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext
    ) -> Iterable[OUT | SideOutput] | None:
        """Return the results for a timer of a key; by default there are none.

        Args:
            timestamp: The time that the timer was registered for, in ms since the epoch.
            ctx: Key, time and timers, and read-only broadcast state.
        """
        return None
