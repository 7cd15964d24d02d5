"""Patterns that are refused, conditions of all kinds, and pattern streams as programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.cep import (
    CEP,
    AfterMatchSkipStrategy,
    IterativeCondition,
    MalformedPatternError,
    Pattern,
    PatternFlatSelectFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    SimpleCondition,
    WithinType,
)
from firesteel.common import Configuration, Duration, Time, Types, WatermarkStrategy
from firesteel.datastream import OutputTag, StreamExecutionEnvironment
from firesteel.functions.cep.pattern_compiler import compile_pattern
from firesteel.testing import run_local

TEN = Duration.of_millis(10)


def a() -> Pattern:
    return Pattern.begin("a")


def group(inner: Pattern) -> Pattern:
    return Pattern.begin("first").followed_by(inner)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "two quantifiers": (lambda: a().times(2).one_or_more(), r"already has times\(2\)"),
    "optional before a quantifier": (lambda: a().optional().times(2), "comes after"),
    "optional twice": (lambda: a().optional().optional(), "already called"),
    "optional after greedy": (lambda: a().one_or_more().greedy().next("b").optional(), "cannot follow a greedy"),
    "greedy without a quantifier": (lambda: a().greedy(), "needs times"),
    "greedy with combinations": (lambda: a().one_or_more().allow_combinations().greedy(), "exclude each other"),
    "greedy group": (lambda: group(a()).one_or_more().greedy(), "not applicable to a group"),
    "consecutive without a quantifier": (lambda: a().consecutive(), "needs times"),
    "consecutive twice": (lambda: a().times(2).consecutive().consecutive(), "already called"),
    "consecutive with combinations": (lambda: a().times(2).consecutive().allow_combinations(), "not both"),
    "quantifier of a not": (lambda: a().not_next("b").times(2), r"not applicable to not_next\(\)"),
    "optional not": (lambda: a().not_followed_by("b").optional(), r"not applicable to not_followed_by\(\)"),
    "until without a loop": (lambda: a().times(2).until(bool), "needs one_or_more"),
    "until twice": (lambda: a().one_or_more().until(bool).until(bool), "already called"),
    "not after optional": (lambda: a().optional().not_next("b"), "cannot follow a part that may be missing, 'a'"),
    "not after a group of optional parts": (
        lambda: group(a().optional()).not_followed_by("b"),
        "cannot follow a part that may be missing, a group of 'a'",
    ),
    "where of a group": (lambda: group(a()).where(bool), "on the parts of the group"),
    "or_where of a group": (lambda: group(a()).or_where(bool), "on the parts of the group"),
    "subtype of a group": (lambda: group(a()).subtype(int), "on the parts of the group"),
    "throws without a part": (lambda: AfterMatchSkipStrategy.skip_to_next().throw_exception_on_miss(), "belongs to"),
    "same name": (lambda: compile_pattern(a().next("a")), "'a' occurs more than once"),
    "same name in a group": (lambda: compile_pattern(a().next(Pattern.begin("a"))), "'a' occurs more than once"),
    "name with a colon": (lambda: compile_pattern(Pattern.begin("a:b")), "without ':'"),
    "name of the end": (lambda: compile_pattern(Pattern.begin("$endState$")), "other than"),
    "no name": (lambda: compile_pattern(Pattern.begin("")), "needs a name"),
    "skip to an unknown part": (
        lambda: compile_pattern(Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("x"))),
        "skips to 'x', but the pattern has the parts a",
    ),
    "not at the end without a time": (
        lambda: compile_pattern(a().within(TEN).not_followed_by("b")),
        r"call within\(\) after it",
    ),
    "not at the end of a group": (
        lambda: compile_pattern(group(a().not_followed_by("b").within(TEN))),
        "add the part after the group",
    ),
    "within in a group": (lambda: compile_pattern(group(a().within(TEN).next("b"))), "counts for the whole match"),
    "endless group": (
        lambda: compile_pattern(group(Pattern.begin(a().optional()).next("b").times(0, 2)).one_or_more()),
        "needs a part that is not optional",
    ),
    "time from the previous event of a loop": (
        lambda: compile_pattern(a().next("b").one_or_more().within(TEN, WithinType.PREVIOUS_AND_CURRENT)),
        "for parts of one event; 'b'",
    ),
    "time from the previous event of a group": (
        lambda: compile_pattern(group(a()).within(TEN, WithinType.PREVIOUS_AND_CURRENT)),
        "for parts of one event; a group of 'a'",
    ),
    "time from the previous event of a not": (
        lambda: compile_pattern(a().not_followed_by("n").within(TEN, WithinType.PREVIOUS_AND_CURRENT).next("b")),
        "has no effect",
    ),
    "time from the previous event above all": (
        lambda: compile_pattern(a().next("b").within(Time.days(1), WithinType.PREVIOUS_AND_CURRENT).within(TEN)),
        "longer than that of the whole match, 10 ms",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_pattern_is_refused(name: str) -> None:
    call, message = REFUSED[name]
    with pytest.raises(MalformedPatternError, match=message):
        call()


WRONG: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "where": (lambda: a().where("x"), TypeError, r"where\(\) takes an IterativeCondition.*found str 'x'"),
    "three arguments": (lambda: a().where(lambda x, y, z: True), TypeError, "of the event and the context"),
    "name": (lambda: Pattern.begin(7), TypeError, "a str or Pattern; found int 7"),
    "strategy": (lambda: Pattern.begin("a", "next"), TypeError, "takes an AfterMatchSkipStrategy"),
    "times": (lambda: a().times(3, 2), ValueError, "found 3 and 2"),
    "times 0": (lambda: a().times(0), ValueError, "found 0 and 0"),
    "times or more": (lambda: a().times_or_more(0), ValueError, "1 or more, found 0"),
    "within": (lambda: a().within(Duration.of_millis(0)), ValueError, "greater than 0, found 0 ms"),
    "within a number": (lambda: a().within(5), TypeError, "takes a Time or Duration"),
    "stream": (lambda: CEP.pattern([1], a()), TypeError, "takes a DataStream"),
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_are_checked(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()


def test_malformed_pattern_is_refused_where_it_is_used() -> None:
    with pytest.raises(MalformedPatternError):
        CEP.pattern(numbers([1]), a().next("a"))


def numbers(elements: list[Any], kind: Any = None) -> Any:
    """Return a stream of numbers whose event times are the numbers."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: int(n))
    return env.from_collection(elements, kind or Types.LONG()).assign_timestamps_and_watermarks(timed)


def results(stream: Any) -> list[Any]:
    stream.collect_async()
    return run_local(stream.get_execution_environment()).elements


class Even(SimpleCondition):
    def filter(self, value: Any) -> bool:
        return value % 2 == 0


class Opened(IterativeCondition):
    limit = 0

    def open(self, runtime_context: Any) -> None:
        self.limit = 3

    def filter(self, value: Any, context: Any) -> bool:
        return value > self.limit


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (a().where(Even()), [2, 4]),
        (a().where(SimpleCondition.of(lambda n: n > 2)), [3, 4]),
        (a().where(Opened()), [4]),
        (a().where(lambda n, context: context.timestamp() == 3), [3]),
        (a().where(Even()).or_where(lambda n: n == 1), [1, 2, 4]),
        (a().where(Even()).where(lambda n: n > 2), [4]),
        (a().subtype(int).where(lambda n: n == 2), [2]),
        (a().subtype(str), []),
        (a().where(bool), [1, 2, 3, 4]),
    ],
)
def test_conditions(pattern: Pattern, expected: list[int]) -> None:
    matches = CEP.pattern(numbers([1, 2, 3, 4]), pattern).select(lambda match: match["a"][0], Types.LONG())
    assert results(matches) == expected


def test_streams_without_keys_are_matched_in_one_subtask() -> None:
    pairs = a().next("b")
    stream = CEP.pattern(numbers([1, 2, 3]), pairs).select(lambda match: match["a"] + match["b"])
    assert results(stream) == [[1, 2], [2, 3]]
    assert stream.get_name() == "GlobalCepOperator"


def test_streams_with_keys_are_matched_per_key() -> None:
    keyed = numbers([1, 2, 3, 4]).key_by(lambda n: n % 2, Types.LONG())
    stream = CEP.pattern(keyed, a().next("b")).select(lambda match: match["a"] + match["b"])
    assert sorted(results(stream)) == [[1, 3], [2, 4]]
    assert stream.get_name() == "CepOperator"


TIMED_OUT = OutputTag("timed out", Types.STRING())


class Total(PatternSelectFunction):
    def open(self, runtime_context: Any) -> None:
        self.factor = 10

    def select(self, pattern: Any) -> int:
        return self.factor * sum(event for events in pattern.values() for event in events)


class Describe(PatternTimeoutFunction):
    def open(self, runtime_context: Any) -> None:
        self.text = "{} until {}"

    def timeout(self, pattern: Any, timeout_timestamp: int) -> str:
        return self.text.format(pattern, timeout_timestamp)


def test_select_with_timeouts() -> None:
    pattern = a().next("b").where(lambda n: n < 9).within(Duration.of_millis(3))
    selected = CEP.pattern(numbers([1, 2, 9]), pattern).select(Total(), Types.LONG(), TIMED_OUT, Describe())
    selected.get_side_output(TIMED_OUT).collect_async()
    assert sorted(results(selected.map(str, Types.STRING()))) == ["30", "{'a': [2]} until 5", "{'a': [9]} until 12"]


class Each(PatternFlatSelectFunction):
    def flat_select(self, pattern: Any) -> Any:
        yield from pattern["a"]


def test_flat_select_with_timeouts() -> None:
    pattern = a().next("b").where(lambda n: n < 9).within(Duration.of_millis(3))
    stream = CEP.pattern(numbers([1, 2, 9]), pattern)
    selected = stream.flat_select(Each(), Types.LONG(), TIMED_OUT, lambda match, time: [str(time)] * 2)
    selected.get_side_output(TIMED_OUT).collect_async()
    assert sorted(results(selected.map(str, Types.STRING()))) == ["1", "12", "12", "5", "5"]


def test_a_timeout_function_needs_a_side_output() -> None:
    with pytest.raises(TypeError, match="needs a side output"):
        CEP.pattern(numbers([1]), a()).select(Total(), None, None, Describe())


def test_late_events_go_to_a_side_output() -> None:
    late = OutputTag("late", Types.LONG())
    matches = CEP.pattern(numbers([5, 1, 6]), a()).side_output_late_data(late).select(lambda match: match["a"][0])
    matches.get_side_output(late).map(lambda n: f"late {n}").collect_async()
    found = results(matches)
    assert set(found) == {5, 1, 6} or set(found) == {5, 6, "late 1"}


@pytest.mark.spark
def test_a_pattern_on_spark_survives_a_failed_batch(tmp_path: Any) -> None:
    failed = tmp_path / "failed"

    def check(match: dict[str, list[Any]]) -> tuple[int, int]:
        if match["b"][0] > 40 and not failed.exists():
            failed.touch()
            raise ValueError("fails once")
        return match["a"][0], match["b"][0]

    stream = numbers(list(range(60)))
    restarts = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "10 ms"}
    stream.get_execution_environment().configure(Configuration.from_dict(restarts))
    keyed = stream.key_by(lambda n: n % 3, Types.LONG())
    pattern = a().where(Even()).followed_by("b").where(lambda n: n % 2 == 1)
    matches = CEP.pattern(keyed, pattern).select(check, Types.TUPLE([Types.LONG(), Types.LONG()]))
    with matches.execute_and_collect() as found:
        assert sorted(found) == [(n, n + 3) for n in range(0, 57, 2)]
    assert failed.exists()
