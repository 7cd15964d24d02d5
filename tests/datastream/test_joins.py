"""Joins of whole programs: what they compute, in any mode, parallelism and cut into versions, and their graphs."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Configuration, Duration, Time, Types, WatermarkStrategy
from firesteel.common.options.state_options import RECOVERY_PATH
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import DataStream, OutputTag, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import CoGroupFunction, FlatJoinFunction, JoinFunction, ProcessJoinFunction
from firesteel.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    NeverTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from firesteel.errors import InvalidProgramError
from firesteel.testing import Fault, run_local

pytestmark = pytest.mark.slow

ELEMENT = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
Element = tuple[str, int, int]
"""(key, number, time)."""


class Third(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[2])


def first(value: Any) -> Any:
    return value[0]


def environment(parallelism: int = 1, is_batch: bool = False) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(parallelism)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH if is_batch else RuntimeExecutionMode.STREAMING)
    return env


def timed(env: StreamExecutionEnvironment, elements: list[Element], bound: int = 1000) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(bound))
    stream = env.from_collection(elements, ELEMENT)
    return stream.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Third()))


def tumbling(size: int) -> TumblingEventTimeWindows:
    return TumblingEventTimeWindows.of(Time.milliseconds(size))


LEFT = [("a", 1, 1), ("a", 2, 4), ("b", 3, 5), ("a", 4, 12)]
RIGHT = [("a", 10, 2), ("a", 20, 13), ("c", 30, 5), ("a", 40, 6)]


# --- window join ---------------------------------------------------------------------------------------------------


class Numbers(JoinFunction):
    def open(self, runtime_context: Any) -> None:
        self.suffix = runtime_context.get_number_of_parallel_subtasks()

    def join(self, first: Element, second: Element) -> str:
        return f"{first[1]}+{second[1]}/{self.suffix}"


class IfEven(FlatJoinFunction):
    def join(self, first: Element, second: Element) -> Any:
        if first[1] % 2 == 0:
            yield f"{first[1]}+{second[1]}"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda a, b: f"{a[1]}+{b[1]}", ["1+10", "1+40", "2+10", "2+40", "4+20"]),
        (Numbers(), ["1+10/1", "1+40/1", "2+10/1", "2+40/1", "4+20/1"]),
        (IfEven(), ["2+10", "2+40", "4+20"]),
    ],
    ids=["callable", "JoinFunction", "FlatJoinFunction"],
)
def test_join_gives_each_pair_of_the_same_key_and_window(function: Any, expected: list[str]) -> None:
    env = environment()
    pairs = timed(env, LEFT).join(timed(env, RIGHT)).where(first).equal_to(first, Types.STRING())
    pairs.window(tumbling(10)).apply(function, Types.STRING()).print()
    assert sorted(run_local(env).lines) == expected


class Sides(CoGroupFunction):
    def co_group(self, first: list[Element], second: list[Element]) -> Any:
        yield sorted(e[1] for e in first), sorted(e[1] for e in second)


@pytest.mark.parametrize(
    "function",
    [Sides(), lambda first, second: [(sorted(e[1] for e in first), sorted(e[1] for e in second))]],
    ids=["CoGroupFunction", "callable"],
)
def test_co_group_sees_both_sides_also_empty_ones(function: Any) -> None:
    env = environment()
    sides = timed(env, LEFT).co_group(timed(env, RIGHT)).where(first).equal_to(first)
    sides.window(tumbling(10)).apply(function).collect_async()
    assert sorted(run_local(env).elements) == [([], [30]), ([1, 2], [10, 40]), ([3], []), ([4], [20])]


def test_co_group_function_may_return_none() -> None:
    env = environment()
    sides = timed(env, LEFT).co_group(timed(env, RIGHT)).where(first).equal_to(first)
    sides.window(tumbling(10)).apply(lambda first, second: None).collect_async()
    assert run_local(env).elements == []


def test_stream_joins_itself() -> None:
    env = environment()
    stream = timed(env, [("a", 1, 1), ("a", 2, 2)])
    windows = stream.join(stream).where(first).equal_to(first).window(tumbling(10))
    windows.apply(lambda a, b: (a[1], b[1])).collect_async()
    assert sorted(run_local(env).elements) == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_keyed_streams_are_joined_by_the_keys_of_the_join() -> None:
    env = environment()
    stream = timed(env, LEFT).key_by(lambda e: e[1])
    windows = stream.join(timed(env, RIGHT).key_by(lambda e: e[1])).where(first).equal_to(first).window(tumbling(10))
    windows.apply(lambda a, b: (a[1], b[1])).collect_async()
    assert len(run_local(env).elements) == 5


def test_result_of_a_join_has_the_timestamp_of_its_windows_end() -> None:
    env = environment()
    windows = timed(env, LEFT).join(timed(env, RIGHT)).where(first).equal_to(first).window(tumbling(10))
    joined = windows.apply(lambda a, b: (a[0], 1), Types.TUPLE([Types.STRING(), Types.INT()]))
    joined.key_by(first).window(tumbling(10)).reduce(lambda a, b: (a[0], a[1] + b[1])).print()
    assert sorted(run_local(env).lines) == ["(a,1)", "(a,4)"]


def test_trigger_and_lateness_are_those_of_the_window() -> None:
    env = environment()
    windows = timed(env, LEFT).co_group(timed(env, RIGHT)).where(first).equal_to(first).window(tumbling(100))
    windows = windows.trigger(PurgingTrigger.of(CountTrigger.of(2))).allowed_lateness(7)
    windows.apply(lambda one, two: [len(one) + len(two)]).name("joined").collect_async()
    operator = next(n.operator for n in env.get_stream_graph().nodes.values() if n.name == "joined")
    assert operator.allowed_lateness_ms == 7
    assert run_local(env).elements == [2, 2, 2]


def test_late_elements_join_within_the_allowed_lateness() -> None:
    env = environment()
    # One element per batch, the watermark just below the largest time: ("a", 2, 3) arrives after it.
    left = timed(env, [("a", 1, 1), ("a", 0, 30), ("a", 2, 3)], bound=0)
    right = timed(env, [("a", 10, 2), ("a", 0, 30), ("a", 0, 31)], bound=0)
    windows = left.join(right).where(first).equal_to(first).window(tumbling(10)).allowed_lateness(100)
    windows.apply(lambda a, b: (a[1], b[1])).collect_async()
    elements = run_local(env, batch_elements=1).elements
    assert Counter(elements) == Counter({(1, 10): 2, (2, 10): 1, (0, 0): 2})


class Never(NeverTrigger):
    def can_merge(self) -> bool:
        return False


def test_misfits_are_refused_by_name() -> None:
    env = environment()
    stream = timed(env, LEFT)
    with pytest.raises(TypeError, match=r"join\(\) takes a DataStream; found int 3"):
        stream.join(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"where\(\) takes a KeySelector or a callable"):
        stream.join(stream).where(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"equal_to\(\) takes a KeySelector or a callable"):
        stream.join(stream).where(first).equal_to(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"keys of the same type.*found String and Integer"):
        stream.join(stream).where(first, Types.STRING()).equal_to(first, Types.INT())
    windows = stream.join(stream).where(first).equal_to(first).window(EventTimeSessionWindows.with_gap(Time.seconds(1)))
    with pytest.raises(TypeError, match=r"apply\(\) of joined streams takes a JoinFunction or a callable; found int 3"):
        windows.apply(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="merges windows, but Never does not support that"):
        windows.trigger(Never())


# --- graphs --------------------------------------------------------------------------------------------------------


def test_window_join_has_flinks_nodes_and_one_exchange() -> None:
    env = environment(2)
    left, right = timed(env, LEFT), timed(env, RIGHT)
    join = left.join(right).where(first).equal_to(first, Types.STRING()).window(tumbling(10))
    join.apply(lambda a, b: 1, Types.INT()).print()
    graph = env.get_stream_graph()
    window = next(node for node in graph.nodes.values() if node.name == "TumblingEventTimeWindows")
    edges = list(window.in_edges)
    assert [(graph.nodes[e.source_id].name, e.partitioner.name, e.type_number) for e in edges] == [
        ("Map", "HASH", 0),
        ("Map", "HASH", 0),
    ]
    assert window.description == ("Window(TumblingEventTimeWindows(10, 0), EventTimeTrigger, CoGroupWindowFunction)")
    assert [graph.nodes[e.source_id].parallelism for e in edges] == [2, 2]
    assert run_local(env).stages == 3  # sources with parallelism 1, then timestamps and tags, then the window


def test_interval_join_has_flinks_node() -> None:
    env = environment(2)
    left, right = timed(env, LEFT).key_by(first), timed(env, RIGHT).key_by(first)
    joined = left.interval_join(right).between(Time.milliseconds(-1), Duration.of_millis(1))
    joined.process(ShowPair(), Types.STRING()).print()
    node = next(node for node in env.get_stream_graph().nodes.values() if node.name == "Interval Join")
    assert [(edge.partitioner.name, edge.type_number) for edge in node.in_edges] == [("HASH", 1), ("HASH", 2)]


# --- interval join -------------------------------------------------------------------------------------------------


class ShowPair(ProcessJoinFunction):
    def process_element(self, left: Element, right: Element, ctx: Any) -> Any:
        yield f"{left[1]}+{right[1]}@{ctx.get_timestamp()}"


def interval(env: StreamExecutionEnvironment) -> Any:
    left, right = timed(env, LEFT).key_by(first, Types.STRING()), timed(env, RIGHT).key_by(first, Types.STRING())
    return left.interval_join(right).between(Time.milliseconds(-2), Time.milliseconds(1))


@pytest.mark.parametrize("is_batch", [False, True])
def test_interval_join_pairs_elements_within_the_bounds(is_batch: bool) -> None:
    env = environment(2, is_batch)
    interval(env).process(ShowPair(), Types.STRING()).collect_async()
    assert sorted(run_local(env).elements) == ["1+10@2", "2+10@4", "4+20@13"]


def test_bounds_may_be_exclusive() -> None:
    env = environment()
    interval(env).lower_bound_exclusive().process(ShowPair(), Types.STRING()).collect_async()
    assert sorted(run_local(env).elements) == ["1+10@2", "4+20@13"]
    env = environment()
    interval(env).upper_bound_exclusive().process(ShowPair(), Types.STRING()).collect_async()
    assert sorted(run_local(env).elements) == ["2+10@4"]


def test_late_elements_of_an_interval_join_go_to_their_side_outputs() -> None:
    env = environment()
    left_late, right_late = OutputTag("left late", ELEMENT), OutputTag("right late", ELEMENT)
    left = timed(env, [("a", 1, 10), ("a", 2, 3), ("a", 3, 11)], bound=0).key_by(first)
    right = timed(env, [("a", 1, 10), ("a", 2, 11), ("a", 3, 4)], bound=0).key_by(first)
    joined = left.interval_join(right).between(Time.milliseconds(-100), Time.milliseconds(100))
    joined = joined.side_output_left_late_data(left_late).side_output_right_late_data(right_late)
    main = joined.process(ShowPair(), Types.STRING())
    main.get_side_output(left_late).print("left")
    main.get_side_output(right_late).print("right")
    assert sorted(run_local(env, batch_elements=1).lines) == ["left> (a,2,3)", "right> (a,3,4)"]


def test_interval_join_that_can_not_be_is_refused() -> None:
    env = environment()
    keyed = timed(env, LEFT).key_by(first, Types.STRING())
    with pytest.raises(InvalidProgramError, match="event time only, found processing time"):
        keyed.interval_join(keyed).in_processing_time()
    with pytest.raises(TypeError, match=r"interval_join\(\) takes a KeyedStream"):
        keyed.interval_join(timed(env, RIGHT))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="keys of the same type"):
        keyed.interval_join(keyed.key_by(lambda e: e[1], Types.INT()))
    with pytest.raises(ValueError, match="found 2 ms and 1 ms"):
        keyed.interval_join(keyed).in_event_time().between(Time.milliseconds(2), Time.milliseconds(1))
    with pytest.raises(TypeError, match="takes a ProcessJoinFunction"):
        interval(env).process(lambda a, b: a)
    with pytest.raises(TypeError, match=r"between\(\) takes a Time or Duration"):
        keyed.interval_join(keyed).between(1, 2)  # type: ignore[arg-type]


# --- against a model -----------------------------------------------------------------------------------------------

ELEMENTS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 99), st.integers(0, 60)), max_size=12)
ASSIGNERS = {
    "tumbling": (tumbling(10), lambda time: {time // 10}),
    "sliding": (
        SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)),
        lambda time: {time // 5, time // 5 - 1},
    ),
}


@settings(max_examples=25, deadline=None)
@given(
    left=ELEMENTS,
    right=ELEMENTS,
    kind=st.sampled_from(sorted(ASSIGNERS)),
    parallelism=st.integers(1, 3),
    run=st.sampled_from([("batch", False), ("streaming", False), ("streaming", True)]),
)
def test_window_join_gives_the_pairs_of_the_model(
    left: list[Element], right: list[Element], kind: str, parallelism: int, run: tuple[str, bool]
) -> None:
    mode, dies = run
    assigner, windows_of = ASSIGNERS[kind]
    env = environment(parallelism, mode == "batch")
    windows = timed(env, left).join(timed(env, right)).where(first).equal_to(first, Types.STRING()).window(assigner)
    windows.apply(lambda a, b: (a, b)).collect_async()
    faults = [Fault(batch, stage, 0) for batch in range(4) for stage in range(3)] if dies else ()
    found = run_local(env, batch_elements=3 if mode == "streaming" else None, faults=faults).elements
    expected = Counter((a, b) for a in left for b in right if a[0] == b[0] for _ in windows_of(a[2]) & windows_of(b[2]))
    assert Counter(found) == expected


@settings(max_examples=25, deadline=None)
@given(
    left=ELEMENTS,
    right=ELEMENTS,
    bounds=st.tuples(st.integers(-9, 9), st.integers(-9, 9)).map(sorted),
    parallelism=st.integers(1, 3),
    run=st.sampled_from([("batch", False), ("streaming", False), ("streaming", True)]),
)
def test_interval_join_gives_the_pairs_of_the_model(
    left: list[Element], right: list[Element], bounds: list[int], parallelism: int, run: tuple[str, bool]
) -> None:
    mode, dies = run
    env = environment(parallelism, mode == "batch")
    keyed = [timed(env, elements).key_by(first, Types.STRING()) for elements in (left, right)]
    joined = keyed[0].interval_join(keyed[1]).between(*map(Time.milliseconds, bounds))
    joined.process(BothOf()).collect_async()
    faults = [Fault(batch, stage, 0) for batch in range(4) for stage in range(3)] if dies else ()
    found = run_local(env, batch_elements=3 if mode == "streaming" else None, faults=faults).elements
    lower, upper = bounds
    expected = Counter((a, b) for a in left for b in right if a[0] == b[0] and lower <= b[2] - a[2] <= upper)
    assert Counter(found) == expected


class BothOf(ProcessJoinFunction):
    def process_element(self, left: Element, right: Element, ctx: Any) -> Any:
        yield left, right


def sessions(left: list[Element], right: list[Element], gap: int) -> Counter[Any]:
    """Per key, the elements of both sides between two gaps."""
    found: Counter[Any] = Counter()
    tagged = sorted((e[0], e[2], side, e[1]) for side, elements in enumerate((left, right)) for e in elements)
    for _, of_key in groupby(tagged, key=first):
        last, sides = None, (list[int](), list[int]())
        for _, time, side, number in of_key:
            if last is not None and time > last + gap:
                found[tuple(sorted(sides[0])), tuple(sorted(sides[1]))] += 1
                sides = ([], [])
            sides[side].append(number)
            last = time
        found[tuple(sorted(sides[0])), tuple(sorted(sides[1]))] += 1
    return found


@settings(max_examples=25, deadline=None)
@given(left=ELEMENTS, right=ELEMENTS, parallelism=st.integers(1, 3), is_batch=st.booleans())
def test_sessions_of_a_co_group_are_those_of_both_sides_together(
    left: list[Element], right: list[Element], parallelism: int, is_batch: bool
) -> None:
    env = environment(parallelism, is_batch)
    sides = timed(env, left).co_group(timed(env, right)).where(first).equal_to(first)
    windows = sides.window(EventTimeSessionWindows.with_gap(Time.milliseconds(7)))
    windows.apply(
        lambda one, two: [(tuple(sorted(e[1] for e in one)), tuple(sorted(e[1] for e in two)))]
    ).collect_async()
    assert Counter(run_local(env, batch_elements=3).elements) == sessions(left, right, 7)


# --- over jobs -----------------------------------------------------------------------------------------------------


def numbers_joined(parallelism: int, savepoint: Path | None) -> StreamExecutionEnvironment:
    """Both kinds of joins over two sources of 60 numbers each; 10 ms lie between two numbers."""
    configuration = Configuration()
    if savepoint is not None:
        configuration.set_string(RECOVERY_PATH.key, str(savepoint))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10_000))
    strategy = strategy.with_timestamp_assigner(TenPerNumber())
    streams = [env.from_source(NumberSequenceSource(0, 59), strategy, f"numbers {i}").uid(f"in {i}") for i in (1, 2)]
    windows = streams[0].join(streams[1]).where(mod_7).equal_to(mod_7, Types.LONG()).window(tumbling(100))
    windows.apply(lambda a, b: f"{a} {b}", Types.STRING()).uid("window").print("window").uid("window out")
    keyed = [stream.key_by(mod_7, Types.LONG()) for stream in streams]
    near = keyed[0].interval_join(keyed[1]).between(Time.milliseconds(-70), Time.milliseconds(140))
    near.process(NumberPair(), Types.STRING()).uid("interval").print("interval").uid("interval out")
    return env


class TenPerNumber(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 10


class NumberPair(ProcessJoinFunction):
    def process_element(self, left: int, right: int, ctx: Any) -> Any:
        yield f"{left} {right}"


def mod_7(number: int) -> int:
    return number % 7


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 5))
def test_joins_resume_from_a_savepoint_in_any_parallelism(
    tmp_path_factory: pytest.TempPathFactory, before: int, after: int, batches: int
) -> None:
    directory = tmp_path_factory.mktemp("savepoint")
    one = run_local(numbers_joined(before, None), batch_elements=4, batches=batches, savepoint=directory)
    two = run_local(numbers_joined(after, one.savepoint), batch_elements=4)
    found: dict[str, Counter[str]] = {"window": Counter(), "interval": Counter()}
    for line in one.lines + two.lines:
        name, pair = line.split("> ")
        found[name.split(":")[0]][pair] += 1
    numbers = [(a, b) for a in range(60) for b in range(60) if a % 7 == b % 7]
    assert found["window"] == Counter(f"{a} {b}" for a, b in numbers if a // 10 == b // 10)
    assert found["interval"] == Counter(f"{a} {b}" for a, b in numbers if -7 <= b - a <= 14)
