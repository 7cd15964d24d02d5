"""Mistakes of newcomers: the message says what was asked, what was found, and what to write."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from firesteel.common import Configuration, Duration, Encoder, Time, Types, WatermarkStrategy
from firesteel.common.trust.pickling import dumps
from firesteel.common.trust.unpicklable import UnpicklableError
from firesteel.datastream import (
    AsyncDataStream,
    DataStream,
    KeyedStream,
    MapFunction,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    WindowedStream,
)
from firesteel.datastream.connectors.file_system import FileSink, OutputFileConfig, RollingPolicy
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import AsyncFunction
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.errors import InvalidProgramError
from firesteel.testing import run_local


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment(Configuration())


def words() -> DataStream:
    return environment().from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))


def keyed() -> KeyedStream:
    return words().key_by(lambda pair: pair[0])


class Doubled(MapFunction):
    def map(self, value: int) -> int:
        return value * 2


class Asked(AsyncFunction):
    async def async_invoke(self, value: object) -> list[object]:
        return [value]

    def timeout(self, value: object) -> list[object]:
        return []


def letters(pair: tuple[str, int]) -> Iterator[str]:
    yield pair[0]


CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "a reduce without keys": (lambda: words().reduce(min), "has no attribute 'reduce'; call key_by() first"),
    "a window without keys": (lambda: words().window(5), "has no attribute 'window'; call key_by() first"),
    "an aggregate without windows": (
        lambda: words().aggregate(1),
        "has no attribute 'aggregate'; call key_by() and window() first",
    ),
    "a class for a function": (lambda: words().map(Doubled), "found the class Doubled: write Doubled()"),
    "a generator in map": (lambda: words().map(letters), "which yields: use flat_map()"),
    "a generator in filter": (lambda: words().filter(letters), "which yields: use flat_map()"),
    "a text for a parallelism": (lambda: environment().set_parallelism("2"), "takes an int; found str '2'"),
    "a text for that of an operator": (lambda: words().set_parallelism("2"), "takes an int; found str '2'"),
    "a text for an interval": (
        lambda: environment().enable_checkpointing("10s"),
        "execution.checkpointing.interval, in ms, takes an int; found str '10s'",
    ),
    "a text for a timeout": (lambda: environment().set_buffer_timeout("1"), "takes an int; found str '1'"),
    "a number for a window": (lambda: TumblingEventTimeWindows.of(5), "takes a Time; found int 5"),
    "a duration for a window": (
        lambda: TumblingEventTimeWindows.of(Duration.of_seconds(5)),
        "takes a Time; found Duration 5 s",
    ),
    "a text for a count": (lambda: keyed().count_window("5"), "takes an int; found str '5'"),
    "a number for a lateness": (
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(5),
        "takes a Duration; found int 5",
    ),
    "a number for an idleness": (
        lambda: WatermarkStrategy.no_watermarks().with_idleness(5),
        "takes a Duration; found int 5",
    ),
    "a text for seconds": (lambda: Duration.of_seconds("5"), "takes a Real; found str '5'"),
    "a text for minutes": (lambda: Time.minutes("5"), "takes a Real; found str '5'"),
    "a number for a collection": (lambda: environment().from_collection(5), "takes an Iterable; found int 5"),
    "a number for an identifier": (lambda: words().print(5), "print() takes a str or None; found int 5"),
    "a number for a name": (lambda: words().name(5), "name() takes a str; found int 5"),
    "a number for an id": (lambda: words().uid(5), "uid() takes a str; found int 5"),
    "a number for a description": (lambda: words().set_description(5), "set_description() takes a str; found int 5"),
    "nothing for a group": (
        lambda: words().slot_sharing_group(None),
        "takes a str or SlotSharingGroup; found None",
    ),
    "nothing for the name of a group": (lambda: SlotSharingGroup.builder(None), "takes a str; found None"),
    "a duration for a lateness": (
        lambda: keyed().window(TumblingEventTimeWindows.of(Time.seconds(1))).allowed_lateness(Time.seconds(1)),
        "allowed_lateness(), in ms, takes an int; found Time 1000 ms",
    ),
    "a number for a drift": (
        lambda: WatermarkStrategy.no_watermarks().with_watermark_alignment("group", 5),
        "with_watermark_alignment() takes a Duration; found int 5",
    ),
    "a number for a timeout of calls": (
        lambda: AsyncDataStream.unordered_wait(words(), Asked(), 5),
        "AsyncDataStream takes a Time; found int 5",
    ),
    "nothing for a strategy": (
        lambda: AsyncDataStream.unordered_wait_with_retry(words(), Asked(), Time.seconds(5), None),
        "unordered_wait_with_retry() takes an AsyncRetryStrategy; found None",
    ),
    "a text for a number of a sequence": (lambda: NumberSequenceSource("1", 2), "takes an int; found str '1'"),
    "a fraction for the size of a part": (
        lambda: RollingPolicy.default_rolling_policy(part_size=1.5),
        "the part size of a rolling policy takes an int; found float 1.5",
    ),
    "a number for a suffix": (
        lambda: OutputFileConfig.builder().with_part_suffix(5),
        "with_part_suffix() takes a str; found int 5",
    ),
    "a number for a directory": (
        lambda: environment().set_default_savepoint_directory(5),
        "set_default_savepoint_directory() takes a str; found int 5",
    ),
    "a number for a stream": (lambda: words().union(5), "takes a DataStream; found int 5"),
}


@pytest.mark.parametrize("mistake", CALLS)
def test_a_wrong_call_names_what_was_found_and_what_is_allowed(mistake: str) -> None:
    call, message = CALLS[mistake]
    with pytest.raises((TypeError, AttributeError)) as raised:
        call()
    assert message in str(raised.value)


@pytest.mark.parametrize("path", ["", None])
def test_a_file_sink_without_a_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="a file sink needs the path of a directory"):
        FileSink.for_row_format(path, Encoder.simple_string_encoder())


def test_a_sequence_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match="'from' must be <= 'to', found 2 and 1"):
        NumberSequenceSource(2, 1)


SETTINGS: dict[str, Callable[[DataStream], object]] = {
    "name": lambda stream: stream.name("name"),
    "get_name": lambda stream: stream.get_name(),
    "uid": lambda stream: stream.uid("id"),
    "set_uid_hash": lambda stream: stream.set_uid_hash("0" * 32),
    "set_parallelism": lambda stream: stream.set_parallelism(3),
    "set_max_parallelism": lambda stream: stream.set_max_parallelism(3),
    "force_non_parallel": lambda stream: stream.force_non_parallel(),
    "set_buffer_timeout": lambda stream: stream.set_buffer_timeout(3),
    "set_description": lambda stream: stream.set_description("description"),
    "start_new_chain": lambda stream: stream.start_new_chain(),
    "disable_chaining": lambda stream: stream.disable_chaining(),
    "slot_sharing_group": lambda stream: stream.slot_sharing_group("group"),
}
NO_OPERATORS: dict[str, Callable[[DataStream], DataStream]] = {
    **{name: lambda stream, name=name: getattr(stream, name)() for name in ("shuffle", "rebalance", "rescale")},
    **{name: lambda stream, name=name: getattr(stream, name)() for name in ("forward", "broadcast")},
    "union": lambda stream: stream.union(stream),
}


@pytest.mark.parametrize("stream", NO_OPERATORS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_of_what_is_no_operator_are_refused_as_in_flink(setting: str, stream: str) -> None:
    made = NO_OPERATORS[stream](words().map(str))
    with pytest.raises(InvalidProgramError, match=rf"{setting}\(\) sets an operator, and a .* is none"):
        SETTINGS[setting](made)
    SETTINGS[setting](made.map(str))


def test_all_methods_of_keyed_and_windowed_streams_are_looked_for_in_the_right_place() -> None:
    public = {kind: {name for name in dir(kind) if name[0].islower()} for kind in (DataStream, KeyedStream)}
    for name in public[KeyedStream] - public[DataStream]:
        with pytest.raises(AttributeError, match=r"; call key_by\(\) first"):
            getattr(words(), name)
    windowed = {name for name in dir(WindowedStream) if name[0].islower() and not name.startswith("get_")}
    for name in windowed - public[KeyedStream]:
        with pytest.raises(AttributeError, match=r"; call key_by\(\) and window\(\) first"):
            getattr(words(), name)


def test_a_function_of_flat_map_that_returns_no_results_to_iterate_over() -> None:
    env = environment()
    env.from_collection([1], Types.INT()).flat_map(lambda number: number).print()
    with pytest.raises(Exception, match=r"not iterable; a function of flat_map\(\) or process\(\) yields"):
        run_local(env)


def test_an_error_in_a_function_itself_gets_no_advice() -> None:
    env = environment()
    env.from_collection([1], Types.INT()).flat_map(lambda number: list(number)).print()
    with pytest.raises(Exception, match="not iterable") as raised:
        run_local(env)
    assert "yields" not in str(raised.value)


class WithLock:
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, value: object) -> object:
        return value


def test_what_cannot_be_sent_is_named_with_the_function_and_the_operator() -> None:
    env, lock = environment(), threading.Lock()

    def locked(value: int) -> int:
        with lock:
            return value

    env.from_collection([1], Types.INT()).map(locked, Types.INT()).name("mine").map(lambda n: n).print()
    with pytest.raises(UnpicklableError, match=r"variable 'lock' of locked\(\) .* of operator 'mine.*' is a _thread"):
        dumps(env.get_stream_graph().get_job_graph())
    with pytest.raises(UnpicklableError, match=r"attribute 'lock' of WithLock is a _thread\.lock, which cannot"):
        dumps([1, {"a": WithLock()}])
    with pytest.raises(TypeError, match="cannot pickle"):
        dumps(lock)
