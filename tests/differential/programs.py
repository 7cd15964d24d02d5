"""Random small programs over elements that can change, and what Flink's semantics say about them.

A step builds its part of the program, and computes on lists what comes out of it if each hand-over, each write to and
each read from state is serialised. The model is plain on purpose: one element after the other, a deep copy each time.
"""

from __future__ import annotations

import copy
import datetime
import enum
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import OutputTag
from firesteel.datastream.connectors.base import Source, SourceSplit
from firesteel.datastream.functions import (
    AggregateFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
)
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

ANY = Types.PICKLED_BYTE_ARRAY()
SPLITS = 3
END = 10**6
TAG = OutputTag("aside")

serialised: Callable[[Any], Any] = copy.deepcopy
"""Returns a value as it is after serialization."""


class Color(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass
class Box:
    content: Any


class Plain:
    """Compared by identity in Python."""

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass
class Item:
    """An element that is no container."""

    index: int
    number: int
    parts: list[Any]

    def __getitem__(self, position: int) -> Any:
        return (self.index, self.number, self.parts)[position]


ODD_KEYS: list[Callable[[], Any]] = [
    lambda: float("nan"),
    lambda: 0.0,
    lambda: -0.0,
    lambda: 1,
    lambda: 1.0,
    lambda: True,
    lambda: Decimal("1.0"),
    lambda: Decimal("1.00"),
    lambda: Fraction(1),
    lambda: Color.RED,
    lambda: Pair(1, "a"),
    lambda: Pair(1.0, "a"),
    lambda: (1, "a"),
    lambda: Box([1]),
    lambda: Plain(1),
    lambda: Plain(1.0),
    lambda: (Plain(2), float("nan")),
    lambda: frozenset(["a", "b", "c"]),
    lambda: [1],
    lambda: {"a": 1},
    lambda: Row(1, "a"),
    lambda: datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC),
    lambda: datetime.datetime(2024, 1, 1, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    lambda: None,
]
"""All different, each as a new object. An element's index says which of them is its key."""

SHAPES: list[Callable[[int, int], Any]] = [
    lambda index, number: [index, number, []],
    lambda index, number: (index, number, []),
    lambda index, number: Row(index, number, []),
    lambda index, number: Item(index, number, []),
]
"""What elements are: all have index, number and a list of parts at the positions 0 to 2."""


def odd_key(index: int) -> Any:
    """A new object of one of the keys."""
    return ODD_KEYS[index % len(ODD_KEYS)]()


def name_of(key: Any) -> str:
    """Return a description of a key that distinguishes it from all other odd keys."""
    if isinstance(key, (Plain, Box)):
        return f"{type(key).__name__}({vars(key)})"
    if isinstance(key, tuple):
        return f"{type(key).__name__}({[name_of(part) for part in key]})"
    return f"{type(key).__name__}:{sorted(key) if isinstance(key, frozenset) else key!r}"


class Splits(Source):
    """Elements in several splits. Those of one key are all in one split, so that their order is known."""

    def __init__(self, elements: list[Any]) -> None:
        super().__init__()
        self._splits = {f"s{i}": [e for e in elements if e[0] % SPLITS == i] for i in range(SPLITS)}

    def discover_splits(self) -> list[SourceSplit]:
        return [SourceSplit(name, len(elements)) for name, elements in self._splits.items()]

    def read_split(self, split_id: str, start: int, end: int) -> Iterator[Any]:
        for element in self._splits[split_id][start:end]:
            yield element
            element[2].append("changed by the source")


class NumberAsTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


STRATEGY = WatermarkStrategy.no_watermarks().with_timestamp_assigner(NumberAsTime())


# --- functions without a key -----------------------------------------------------------------------------------------


class Touch(MapFunction):
    """Changes its input."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def map(self, value: Any) -> Any:
        value[2].append(self.mark)
        return value


class TouchLater(MapFunction):
    """Changes its former results."""

    def __init__(self) -> None:
        self.last: Any = None

    def map(self, value: Any) -> Any:
        if self.last is not None:
            self.last[2].append("later")
        self.last = value
        return value


class Reuse(MapFunction):
    """Gives the same list in each tuple."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def map(self, value: Any) -> Any:
        self.parts[:] = [*value[2], "reused"]
        return value[0], value[1], self.parts


def retaining() -> Callable[[Any], Any]:
    """A function that keeps parts of its results, and changes them later."""
    kept: list[Any] = []

    def retain(value: Any) -> Any:
        for parts in kept:
            parts.append("retained")
        kept[:] = [value[2]]
        return value

    return retain


def with_default(value: Any, seen: list[Any] = []) -> Any:  # noqa: B006
    """Keeps its input in a mutable default argument."""
    if seen:
        seen.pop()[2].append("in the default")
    seen += [value]
    return value


class Drop(FilterFunction):
    """Changes elements that it passed on before."""

    def __init__(self) -> None:
        self.last: Any = None

    def filter(self, value: Any) -> bool:
        if self.last is not None:
            self.last[2].append("kept by the filter")
        self.last = value
        return value[1] % 5 != 0


class Again(FlatMapFunction):
    """Gives the same object again and again, changed in between."""

    def flat_map(self, value: Any) -> Iterable[Any]:
        for number in range(value[1] % 3):
            value[2].append(number)
            yield value
        value[2].append("after the last")


class Twice(FlatMapFunction):
    """Gives the same object twice in one list, and a list that it uses again."""

    def __init__(self) -> None:
        self.results: list[Any] = []

    def flat_map(self, value: Any) -> Iterable[Any]:
        self.results[:] = [value, value]
        return self.results


class Aside(ProcessFunction):
    """Gives the same object to both outputs."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        value[2].append("main")
        yield value
        yield TAG, value
        value[2].append("main again")
        yield value


# --- functions with a key ---------------------------------------------------------------------------------------------


class Seen(KeyedProcessFunction):
    """Changes values read from and written to state, and writes only some of them back."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", ANY))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        seen = self.seen.value() or []
        seen.append(value[1])
        if value[1] % 3:
            self.seen.update(seen)
        seen.append(name_of(ctx.get_current_key()))
        yield value[0], value[1], seen
        seen.append("after")
        value[2].append("after")


class Collected(KeyedProcessFunction):
    """Changes elements of a list state, before and after they are read."""

    def open(self, runtime_context: Any) -> None:
        self.parts = runtime_context.get_list_state(ListStateDescriptor("parts", ANY))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value[1] % 4 == 0:
            self.parts.clear()
        self.parts.add(value[2])
        value[2].append("after add")
        found = list(self.parts.get())
        found[0].append("read")
        yield value[0], value[1], found
        yield value[0], value[1], list(self.parts.get())


class Mapped(KeyedProcessFunction):
    """Keeps parts by odd keys, tells which there are."""

    def open(self, runtime_context: Any) -> None:
        self.maps = runtime_context.get_map_state(MapStateDescriptor("maps", ANY, ANY))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        number = value[1]
        if number % 7 == 6:
            self.maps.remove(odd_key(number - 1))
        else:
            self.maps.put(odd_key(number), value[2])
        value[2].append("after put")
        found = self.maps.get(odd_key(number))
        if found is not None:
            found.append("read")
        names = sorted(name_of(key) + repr(parts) for key, parts in self.maps.items())
        yield value[0], number, [names, self.maps.contains(odd_key(number + 1)), len(list(self.maps.keys()))]


class InPlace(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        value1[2].append((value2[1], value2[2]))
        return value1


class Gather(AggregateFunction):
    """Keeps the elements themselves, and begins with the same list each time."""

    def __init__(self) -> None:
        self.empty: list[Any] = []

    def create_accumulator(self) -> Any:
        return self.empty

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value[2])
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Added(KeyedProcessFunction):
    """Reducing and aggregating state, whose values change after they were added and read."""

    def open(self, runtime_context: Any) -> None:
        self.reduced = runtime_context.get_reducing_state(ReducingStateDescriptor("reduced", InPlace(), ANY))
        self.gathered = runtime_context.get_aggregating_state(AggregatingStateDescriptor("gathered", Gather(), ANY))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.reduced.add(value)
        self.gathered.add(value)
        value[2].append("after add")
        reduced, gathered = self.reduced.get(), self.gathered.get()
        yield value[0], value[1], [list(reduced[2]), gathered]
        reduced[2].append("read")
        gathered.append("read")


class AtEnd(KeyedProcessFunction):
    """Emits its own list at each timer, and continues to use it."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", ANY))
        self.parts: list[Any] = []

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.seen.add((value[0], value[1]))
        ctx.timer_service().register_event_time_timer(END + value[1] % 2)
        ctx.timer_service().delete_event_time_timer(END + (value[1] + 1) % 3)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[Any]:
        self.parts[:] = [timestamp, name_of(ctx.get_current_key())]
        index = next(iter(self.seen.get()))[0]
        for number in range(2):
            self.parts.append(number)
            yield index, timestamp + number, self.parts


class Panes(ProcessWindowFunction):
    """Changes the elements of a window."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        found = list(elements)
        for element in found:
            element[2].append("in a window")
        window = context.window()
        last = found[-1]
        yield last[0], window.end, [name_of(key), [list(element[2]) for element in found]]
        yield last


# --- the model --------------------------------------------------------------------------------------------------------


class ModelState:
    """Any state of one key; values are serialized on each access."""

    def __init__(self, descriptor: Any) -> None:
        self.descriptor = descriptor
        self.data: Any = None

    def value(self) -> Any:
        return serialised(self.data)

    def update(self, value: Any) -> None:
        self.data = serialised(value)

    def clear(self) -> None:
        self.data = None

    def add(self, value: Any) -> None:
        descriptor, value, data = self.descriptor, serialised(value), serialised(self.data)
        if isinstance(descriptor, ListStateDescriptor):
            self.data = [*(data or []), value]
        elif isinstance(descriptor, ReducingStateDescriptor):
            reduce = descriptor.reduce_function.reduce
            self.data = serialised(value if data is None else reduce(data, value))
        else:
            function = descriptor.agg_function
            begin = serialised(function.create_accumulator()) if data is None else data
            self.data = serialised(function.add(value, begin))

    def get(self, key: Any = None) -> Any:
        if isinstance(self.descriptor, MapStateDescriptor):
            return serialised((self.data or {}).get(name_of(key), (None, None))[1])
        if isinstance(self.descriptor, ListStateDescriptor):
            return serialised(self.data or [])
        if isinstance(self.descriptor, ReducingStateDescriptor):
            return serialised(self.data)
        return self.descriptor.agg_function.get_result(serialised(self.data))

    def put(self, key: Any, value: Any) -> None:
        self.data = {**(self.data or {}), name_of(key): (serialised(key), serialised(value))}

    def remove(self, key: Any) -> None:
        (self.data or {}).pop(name_of(key), None)

    def contains(self, key: Any) -> bool:
        return name_of(key) in (self.data or {})

    def items(self) -> list[Any]:
        return serialised(list((self.data or {}).values()))  # type: ignore[no-any-return]

    def keys(self) -> list[Any]:
        return [key for key, _ in self.items()]


class ModelContext:
    """Runtime context, context and timer service of one key."""

    def __init__(self, key: Any) -> None:
        self.key = key
        self.timers: set[int] = set()

    def state(self, descriptor: Any) -> ModelState:
        return ModelState(descriptor)

    get_state = get_list_state = get_map_state = get_reducing_state = get_aggregating_state = state

    def get_current_key(self) -> Any:
        return serialised(self.key)

    def timer_service(self) -> ModelContext:
        return self

    def register_event_time_timer(self, timestamp: int) -> None:
        self.timers.add(timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self.timers.discard(timestamp)


def results_of(results: Iterable[Any] | None) -> list[Any]:
    """The results of one call, each serialised when it is yielded."""
    return [serialised(result) for result in results or ()]


def by_key(elements: list[Any]) -> dict[str, list[Any]]:
    """The elements by the name of their key, in order."""
    groups: dict[str, list[Any]] = {}
    for element in elements:
        groups.setdefault(name_of(odd_key(element[0])), []).append(serialised(element))
    return groups


def model_of_process(function: KeyedProcessFunction, elements: list[Any]) -> list[Any]:
    """A keyed process function, key by key: keys share nothing."""
    results: list[Any] = []
    for group in by_key(elements).values():
        own, context = copy.deepcopy(function), ModelContext(odd_key(group[0][0]))
        own.open(context)  # type: ignore[arg-type]
        for element in group:
            results += results_of(own.process_element(element, context))  # type: ignore[arg-type]
        for timestamp in sorted(context.timers):
            results += results_of(own.on_timer(timestamp, context))  # type: ignore[arg-type]
    return results


def model_of_reduce(elements: list[Any], is_batch: bool) -> list[Any]:
    """A keyed reduce: each intermediate value, or in BATCH mode the last one."""
    results: list[Any] = []
    for group in by_key(elements).values():
        reduced = None
        for element in group:
            reduced = serialised(element if reduced is None else InPlace().reduce(reduced, element))
            if not is_batch:
                results.append(serialised(reduced))
        if is_batch:
            results.append(reduced)
    return results


class ModelWindow(NamedTuple):
    end: int

    def window(self) -> ModelWindow:
        return self


def model_of_windows(size: int, slide: int, elements: list[Any]) -> list[Any]:
    """Sliding windows over the numbers; each window has elements of its own."""
    results: list[Any] = []
    for group in by_key(elements).values():
        windows: dict[int, list[Any]] = {}
        for element in group:
            start = element[1] - element[1] % slide
            while start > element[1] - size:
                windows.setdefault(start + size, []).append(serialised(element))
                start -= slide
        for end in sorted(windows):
            key = odd_key(group[0][0])
            results += results_of(Panes().process(key, ModelWindow(end), windows[end]))  # type: ignore[arg-type]
    return results


# --- steps ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """How a program is run."""

    parallelism: int
    is_batch: bool


@dataclass(frozen=True)
class Step:
    """A part of a program.

    Attributes:
        build: Stream -> stream.
        model: Elements and run -> elements.
        is_keyed: Whether it begins with a key_by().
        needs_order: Whether its results depend on the order of the elements of a key.
        keeps_order: Whether the elements of a key are in a known order after it.
        keeps_numbers: Whether numbers are still times after it.
    """

    build: Callable[[Any], Any]
    model: Callable[[list[Any], Run], list[Any]]
    is_keyed: bool = False
    needs_order: bool = False
    keeps_order: bool = True
    keeps_numbers: bool = True


def keyed(stream: Any) -> Any:
    return stream.key_by(lambda element: odd_key(element[0]))


def element_step(function: Any, method: str, adapt: Callable[[Any, Any], Any]) -> Step:
    """A map, filter or flat_map: an object, a function, or `retaining`, which makes a function."""

    def made() -> Any:
        return function() if function is retaining else copy.deepcopy(function)

    def model(elements: list[Any], run: Run) -> list[Any]:
        own = made()
        call = getattr(own, method, own)
        return [
            result
            for element in elements
            for value in [serialised(element)]
            for result in results_of(adapt(value, call(value)))
        ]

    return Step(lambda stream: getattr(stream, method)(made()), model)


def process_step(function: KeyedProcessFunction, keeps_numbers: bool = True) -> Step:
    return Step(
        lambda stream: keyed(stream).process(function),
        lambda elements, run: model_of_process(function, elements),
        is_keyed=True,
        needs_order=True,
        keeps_numbers=keeps_numbers,
    )


def branches(stream: Any) -> Any:
    return stream.map(Touch("left")).union(stream.map(TouchLater()).map(Touch("right")))


def model_of_branches(elements: list[Any], run: Run) -> list[Any]:
    return [Touch(mark).map(serialised(element)) for mark in ("left", "right") for element in elements]


def sides(stream: Any) -> Any:
    main = stream.process(Aside())
    return main.union(main.get_side_output(TAG).map(Touch("aside")))


def model_of_sides(elements: list[Any], run: Run) -> list[Any]:
    results = []
    for element in elements:
        for result in results_of(Aside().process_element(serialised(element), None)):
            is_aside = type(result) is tuple and isinstance(result[0], OutputTag)
            results.append(Touch("aside").map(result[1]) if is_aside else result)
    return results


def windows(size: int, slide: int) -> Step:
    assigner = SlidingEventTimeWindows(size, slide, 0) if size != slide else TumblingEventTimeWindows(size, 0)
    return Step(
        lambda stream: keyed(stream.assign_timestamps_and_watermarks(STRATEGY)).window(assigner).process(Panes()),
        lambda elements, run: model_of_windows(size, slide, elements),
        needs_order=True,
        keeps_numbers=False,
    )


STEPS: dict[str, Step] = {
    "touch": element_step(Touch("touched"), "map", lambda value, result: [result]),
    "touch later": element_step(TouchLater(), "map", lambda value, result: [result]),
    "reuse": element_step(Reuse(), "map", lambda value, result: [result]),
    "retain": element_step(retaining, "map", lambda value, result: [result]),
    "same": element_step(lambda value: value, "map", lambda value, result: [result]),
    "wrap": element_step(lambda e: (e[0], e[1], [e[2], e[2]]), "map", lambda value, result: [result]),
    "shared default": element_step(with_default, "map", lambda value, result: [result]),
    "drop": element_step(Drop(), "filter", lambda value, result: [value] if result else []),
    "again": element_step(Again(), "flat_map", lambda value, result: result),
    "twice": element_step(Twice(), "flat_map", lambda value, result: result),
    "branches": Step(branches, model_of_branches, keeps_order=False),
    "sides": Step(sides, model_of_sides, keeps_order=False),
    "rebalance": Step(lambda stream: stream.rebalance(), lambda elements, run: elements, keeps_order=False),
    "broadcast": Step(
        lambda stream: stream.broadcast().map(Touch("broadcast")),
        lambda elements, run: [Touch("broadcast").map(serialised(e)) for e in elements for _ in range(run.parallelism)],
        keeps_order=False,
    ),
    "seen": process_step(Seen()),
    "collected": process_step(Collected()),
    "mapped": process_step(Mapped()),
    "added": process_step(Added()),
    "at end": process_step(AtEnd(), keeps_numbers=False),
    "reduce": Step(
        lambda stream: keyed(stream).reduce(InPlace()),
        lambda elements, run: model_of_reduce(elements, run.is_batch),
        is_keyed=True,
        needs_order=True,
    ),
    "tumbling": windows(7, 7),
    "sliding": windows(9, 3),
}
