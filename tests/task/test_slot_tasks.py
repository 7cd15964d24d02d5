"""The life of operators and the replays of stages, over whole jobs."""

from __future__ import annotations

import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.files.spill_file import SpillFile
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink, OutputFileConfig, RollingPolicy
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import KeyedProcessFunction, MapFunction
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.task import slot_tasks
from firesteel.testing import Fault, run_local

pytestmark = pytest.mark.slow

BATCH = RuntimeExecutionMode.BATCH


def environment(parallelism: int = 2, mode: Any = None) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    if mode is not None:
        env.set_runtime_mode(mode)
    return env


def numbers(env: StreamExecutionEnvironment, last: int = 8) -> Any:
    return env.from_source(NumberSequenceSource(1, last), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())


class Traced(MapFunction):
    """Writes its life to a file: user functions travel as copies."""

    def __init__(self, path: Path, name: str, fails_at: int | None = None, fails_in_close: bool = False) -> None:
        self.path, self.name, self.fails_at, self.fails_in_close = path, name, fails_at, fails_in_close

    def _trace(self, what: str) -> None:
        with self.path.open("a") as file:
            file.write(f"{self.name}{self.index} {what}\n")

    def open(self, runtime_context: Any) -> None:
        self.index = runtime_context.get_index_of_this_subtask()
        self._trace("open")

    def close(self) -> None:
        self._trace("close")
        if self.fails_in_close:
            raise RuntimeError("close went wrong")

    def map(self, value: Any) -> Any:
        if value == self.fails_at:
            raise ValueError(f"can't take {value}")
        self._trace("map")
        return value


def traces(path: Path) -> dict[str, list[str]]:
    """Subtask -> what happened, repeated calls of map as one."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        name, what = line.split()
        if found.setdefault(name, [""])[-1] != what:
            found[name].append(what)
    return {name: what[1:] for name, what in found.items()}


# --- life of operators ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [None, BATCH])
def test_each_operator_is_opened_and_closed_once(mode: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    env = environment(mode=mode)
    stream = numbers(env).map(Traced(path, "first"), Types.LONG()).rebalance()
    stream.map(Traced(path, "second"), Types.LONG()).print()
    run_local(env, batch_elements=1)
    life = ["open", "map", "close"]
    assert traces(path) == {f"{name}{index}": life for name in ("first", "second") for index in (0, 1)}


def test_task_that_has_ended_is_closed_while_others_continue(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    env = environment(1)
    env.from_collection([1], Types.INT()).map(Traced(path, "short"), Types.INT()).print()
    numbers(env, 20).map(Traced(path, "long"), Types.LONG()).print()
    run_local(env, batch_elements=5)
    lines = path.read_text().splitlines()
    assert lines.index("short0 close") < lines.index("long0 close")
    assert "long0 map" in lines[lines.index("short0 close") :]
    assert Counter(lines)["short0 open"] == 1


def test_task_that_has_ended_is_not_opened_again_when_its_slot_dies(tmp_path: Path) -> None:
    path = tmp_path / "trace"
    env = environment(1)
    env.from_collection([1], Types.INT()).map(Traced(path, "short"), Types.INT()).print("short")
    numbers(env, 20).map(Traced(path, "long"), Types.LONG()).print("long")
    result = run_local(env, batch_elements=5, faults=[Fault(3, 0, 0)])
    assert Counter(path.read_text().splitlines())["short0 open"] == 1
    assert sorted(result.lines) == sorted(["short> 1", *[f"long> {n}" for n in range(1, 21)]])
    assert all(report.has_ended for report in result.subtasks.values())


@pytest.mark.parametrize("mode", [None, BATCH])
def test_operators_are_closed_after_a_failure(mode: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    env = environment(1, mode)
    stream = numbers(env).map(Traced(path, "first"), Types.LONG()).disable_chaining()
    stream.map(Traced(path, "second", fails_at=3), Types.LONG()).print()
    with pytest.raises(UserFunctionError):
        run_local(env)
    assert {life[-1] for life in traces(path).values()} == {"close"}


def test_error_in_close_at_the_end_of_input_fails_the_task(tmp_path: Path) -> None:
    env = environment(1)
    numbers(env).map(Traced(tmp_path / "trace", "m", fails_in_close=True), Types.LONG()).print()
    with pytest.raises(UserFunctionError, match="close went wrong"):
        run_local(env)


def test_error_in_close_after_a_failure_does_not_hide_it(tmp_path: Path) -> None:
    env = environment(1)
    numbers(env).map(Traced(tmp_path / "trace", "m", fails_at=3, fails_in_close=True), Types.LONG()).print()
    with pytest.raises(UserFunctionError, match="can't take 3") as caught:
        run_local(env)
    assert "close went wrong" in caught.value.__notes__[0]


# --- errors --------------------------------------------------------------------------------------------------------


def parse(value: int) -> int:
    return int("no number") if value == 3 else value


def test_error_names_operator_subtask_and_the_line_of_the_user() -> None:
    env = environment(2)
    numbers(env, 4).map(parse, Types.LONG()).name("parse it").print()
    with pytest.raises(UserFunctionError) as caught:
        run_local(env)
    failure = caught.value.failure
    assert str(caught.value) == (
        "operator 'parse it': ValueError: invalid literal for int() with base 10: 'no number'; on record 3"
    )
    assert (failure["subtask_index"], failure["parallelism"]) == (1, 2)
    assert re.search(r'test_slot_tasks\.py:\d+ in parse: return int\("no number"\)', str(failure["user_location"]))
    assert "site-packages" not in str(failure["user_traceback"])


def test_error_in_open_names_the_operator() -> None:
    class Closed(MapFunction):
        def open(self, runtime_context: Any) -> None:
            raise OSError("no connection")

        def map(self, value: Any) -> Any: ...

    env = environment(1)
    numbers(env).map(Closed(), Types.LONG()).name("connect").print()
    with pytest.raises(UserFunctionError, match="operator 'connect': OSError: no connection"):
        run_local(env)


def test_error_of_a_timestamp_assigner_names_the_source() -> None:
    from firesteel.common.watermark_strategy import TimestampAssigner

    class Broken(TimestampAssigner):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            raise KeyError("time")

    env = environment(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Broken())
    env.from_source(NumberSequenceSource(1, 2), strategy, "events", Types.LONG()).print()
    with pytest.raises(UserFunctionError, match="KeyError: 'time'"):
        run_local(env)


# --- replays -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("after_rows", [0, 1, 100])
def test_rebalanced_elements_go_where_they_went_before(after_rows: int) -> None:
    def lines(*faults: Fault) -> list[str]:
        env = environment(2)
        numbers(env, 20).rebalance().map(lambda n: n, Types.LONG()).set_parallelism(3).print().set_parallelism(3)
        return sorted(run_local(env, batch_elements=3, faults=faults).lines)

    first = lines()
    assert Counter(line[:2] for line in first) == {"1>": 7, "2>": 7, "3>": 6}
    assert lines(*[Fault(batch, 0, slot, after_rows) for batch in (1, 2) for slot in (0, 1)]) == first


def test_rescale_stays_among_neighbours() -> None:
    env = environment(2)
    numbers(env, 8).rescale().map(lambda n: n, Types.LONG()).set_parallelism(4).print().set_parallelism(4)
    found = {line[:2]: int(line[3:]) for line in run_local(env).lines}
    assert {found["1>"] <= 4, found["2>"] <= 4, found["3>"] > 4, found["4>"] > 4} == {True}


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        from firesteel.datastream.state import ValueStateDescriptor

        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


def test_state_survives_many_batches_and_crashes() -> None:
    env = environment(2)
    pair = Types.TUPLE([Types.LONG(), Types.LONG()])
    numbers(env, 100).key_by(lambda n: n % 5, Types.LONG()).process(Count(), pair).print().set_parallelism(1)
    faults = [Fault(batch, stage, batch % 2, batch % 3) for batch in range(25) for stage in (0, 1)]
    result = run_local(env, batch_elements=2, faults=faults)
    assert result.batches == 25
    assert sorted(result.lines) == sorted(f"({key},{count})" for key in range(5) for count in range(1, 21))


def files_below(directory: Path, hidden: bool) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file() and path.name.startswith(".") == hidden]


@pytest.mark.parametrize("name", ["part_size", "rollover_interval", "inactivity_interval"])
def test_limits_of_files_are_positive(name: str) -> None:
    with pytest.raises(ValueError, match=f"the {name.replace('_', ' ')} must be positive, found 0"):
        RollingPolicy.default_rolling_policy(**{name: 0})


@pytest.mark.parametrize("policy", ["each batch", "by size", "at the end"])
@pytest.mark.parametrize("after_rows", [0, 1, 100])
def test_file_sink_writes_each_line_once_whatever_dies(policy: str, after_rows: int, tmp_path: Path) -> None:
    env = environment(2)
    rolling = {
        "each batch": RollingPolicy.on_checkpoint_rolling_policy(),
        "by size": RollingPolicy.default_rolling_policy(part_size=8),
        "at the end": RollingPolicy.default_rolling_policy(),
    }[policy]
    builder = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).with_rolling_policy(rolling)
    config = OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".txt").build()
    stream = numbers(env, 20).rebalance().map(str, Types.STRING())
    stream.sink_to(builder.with_output_file_config(config).build())
    faults = [Fault(batch, stage, slot, after_rows) for batch in range(4) for stage in (0, 1) for slot in (0, 1)]
    result = run_local(env, batch_elements=3, faults=faults, replayed=[1, 3])
    lines = [line for path in files_below(tmp_path, hidden=False) for line in path.read_text().splitlines()]
    assert sorted(map(int, lines)) == list(range(1, 21))
    assert files_below(tmp_path, hidden=True) == []
    assert {str(path) for path in files_below(tmp_path, hidden=False)} == set(result.files)


def test_part_in_progress_is_hidden(tmp_path: Path) -> None:
    env = environment(1)
    sink = FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build()

    def look(value: int) -> str:
        assert files_below(tmp_path, hidden=False) == []
        return str(value)

    numbers(env, 6).map(look, Types.STRING()).sink_to(sink)
    result = run_local(env, batch_elements=2)
    assert len(result.files) == 1


def test_two_sinks_of_one_task_write_separate_files(tmp_path: Path) -> None:
    env = environment(1)
    stream = numbers(env, 3).map(str, Types.STRING())
    for _ in range(2):
        stream.sink_to(FileSink.for_row_format(str(tmp_path), Encoder.simple_string_encoder()).build())
    run_local(env)
    lines = [line for path in files_below(tmp_path, hidden=False) for line in path.read_text().splitlines()]
    assert sorted(lines) == ["1", "1", "2", "2", "3", "3"]


# --- figures -------------------------------------------------------------------------------------------------------


def test_reports_count_records() -> None:
    env = environment(2)
    numbers(env, 10).rebalance().filter(lambda n: n > 4).name("filter").print().set_parallelism(1)
    result = run_local(env, batch_elements=2)
    sums: Counter[str] = Counter()
    for (name, _), report in result.subtasks.items():
        sums[f"{name} in"] += report.records_in
        sums[f"{name} out"] += report.records_out
    assert sums["Source: numbers out"] == 10
    assert [sums[key] for key in sums if key.startswith("filter") and key.endswith("in")] == [10]
    assert [sums[key] for key in sums if key.startswith("filter") and key.endswith("out")] == [6]


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, BATCH])
def test_reports_measure_bytes_busy_times_and_user_metrics(mode: RuntimeExecutionMode) -> None:
    class Count(MapFunction):
        def open(self, runtime_context: Any) -> None:
            group = runtime_context.get_metrics_group().add_group("my.group")
            self.counter, self.sizes = group.counter("seen"), group.distribution("sizes")
            self.meter = group.meter("speed")
            group.gauge("last", lambda: self.last)

        def map(self, value: int) -> int:
            time.sleep(0.002)
            self.last = value
            self.counter.inc()
            self.meter.mark_event()
            self.sizes.update(value)
            return value

    env = environment(1, mode)
    counted = numbers(env, 10).rebalance().map(Count(), Types.LONG()).name("Count: all").set_parallelism(2)
    counted.print("out").set_parallelism(1)
    tasks = run_local(env).subtasks
    metrics: dict[str, Counter[str]] = {}
    for (name, _), report in tasks.items():
        metrics.setdefault(name.split(":")[0], Counter()).update(report.metrics)
    source, count, sink = metrics["Source"], metrics["Count"], metrics["Sink"]
    assert source["numBytesIn"] == sink["numBytesOut"] == 0
    assert source["numBytesOut"] == count["numBytesIn"] > 0
    assert count["numBytesOut"] == sink["numBytesIn"] > 0
    assert count["accumulateBusyTimeMs"] >= 18
    user = {name: value for name, value in count.items() if name.startswith("Count__all.")}
    of_group = {name.removeprefix("Count__all.my_group."): value for name, value in user.items()}
    assert {"seen", "speed", "last", "sizes_sum"} <= set(of_group)
    assert (of_group["seen"], of_group["speed"], of_group["sizes_sum"]) == (10, 10, 55)


def test_several_receivers_do_not_see_each_others_changes() -> None:
    def change(values: list[int]) -> list[int]:
        values.append(0)
        return values

    env = environment(1)
    lists = env.from_collection([1, 2]).map(lambda n: [n])
    lists.map(change).print("changed")
    lists.print("same")
    assert sorted(run_local(env).lines) == ["changed> [1, 0]", "changed> [2, 0]", "same> [1]", "same> [2]"]


def test_the_final_output_of_a_keyed_operator_is_spilled(monkeypatch: Any) -> None:
    monkeypatch.setattr(slot_tasks, "_PENDING_BYTES", 1000)
    env = environment(2, BATCH)
    stream = numbers(env, 20_000).map(lambda n: (n, 1), Types.TUPLE([Types.LONG(), Types.INT()]))
    totals = stream.key_by(lambda v: v[0], Types.LONG()).reduce(lambda a, b: a)
    totals.rebalance().map(lambda v: v[0], Types.LONG()).collect_async()
    spilled: list[int] = []
    write = SpillFile.write

    def note(file: SpillFile, chunk: Any) -> tuple[int, int]:
        spilled.append(1)
        return write(file, chunk)

    monkeypatch.setattr(SpillFile, "write", note)
    assert sorted(run_local(env).elements) == list(range(1, 20_001))
    assert spilled
