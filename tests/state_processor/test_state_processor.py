"""State is read from savepoints and checkpoints, and written to savepoints from which jobs start."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from firesteel.cli.main import cli
from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import KeyedBroadcastProcessFunction, KeyedProcessFunction
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.state_processor import (
    OperatorIdentifier,
    SavepointReader,
    SavepointWriter,
    StateNotFoundError,
    compare_savepoints,
    inspect_savepoint,
)
from firesteel.state_processor.savepoint_writer import SavepointWriteError
from firesteel.task.checkpoint_metadata import CheckpointNotFoundError, checkpoints_in
from firesteel.testing import run_local
from tests.coordinator.test_restore import KEYS, LAST, counts, environment, finals

COUNT = OperatorIdentifier.for_uid("count")
STATES = OperatorIdentifier.for_uid("states")
DESCRIPTOR = ValueStateDescriptor("count", Types.LONG())


class States(KeyedProcessFunction):
    """Has one state of each kind."""

    def open(self, runtime_context: Any) -> None:
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.LONG()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.LONG(), Types.STRING()))
        self.bare = runtime_context.get_state(ValueStateDescriptor("bare", Types.PICKLED_BYTE_ARRAY()))
        limited = ValueStateDescriptor("limited", Types.LONG())
        limited.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        self.limited = runtime_context.get_state(limited)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.list.add(value)
        self.map.put(value, f"v{value}")
        if value % 3 == 0 and value > 20:
            self.map.remove(value - 6)
        self.bare.update({"last": value})
        self.limited.update(value)
        yield value


class Rules(KeyedBroadcastProcessFunction):
    """Keeps what is broadcast."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(f"rule {value}", value)


RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def numbers(env: StreamExecutionEnvironment, first: int, last: int) -> Any:
    return env.from_source(
        NumberSequenceSource(first, last), WatermarkStrategy.no_watermarks(), f"{first}", Types.LONG()
    )


def states(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
    processed = numbers(env, 0, 30).key_by(lambda number: (number % 3, "key")).process(States()).uid("states")
    keyed = processed.key_by(lambda number: number, Types.LONG())
    keyed.connect(numbers(env, 1, 4).broadcast(RULES)).process(Rules()).uid("rules").print()
    return env


def savepoint_of(tmp_path: Path, env: StreamExecutionEnvironment, batches: int = 4) -> str:
    found = run_local(env, batch_elements=5, batches=batches, savepoint=tmp_path).savepoint
    assert found is not None
    return str(found)


@pytest.fixture
def all_kinds(tmp_path: Path) -> SavepointReader:
    return SavepointReader.read(savepoint_of(tmp_path, states(environment(2)), batches=20))


def test_state_is_read_as_the_job_wrote_it(tmp_path: Path) -> None:
    env = counts(environment(2))
    result = run_local(env, batch_elements=5, batches=4, savepoint=tmp_path)
    seen = Counter({int(line.split("(")[1].split(",")[0]): 0 for line in result.lines})
    for line in result.lines:
        key, count = line.split("(")[1].rstrip(")").split(",")
        seen[int(key)] = max(seen[int(key)], int(count))
    read = dict(SavepointReader.read(f"file://{result.savepoint}/_metadata").read_keyed_state(COUNT, "count"))
    assert read == dict(seen)


def test_checkpoints_are_read_over_their_deltas(tmp_path: Path) -> None:
    run_local(counts(environment(2)), batch_elements=5, batches=7, checkpoint=tmp_path)
    (newest,) = checkpoints_in(tmp_path)
    assert sum(count for _, count in SavepointReader.read(str(newest)).read_keyed_state(COUNT, "count")) == 70


def test_each_kind_of_state(all_kinds: SavepointReader) -> None:
    by_key = {remainder: list(range(remainder, 31, 3)) for remainder in range(3)}
    lists = {key: sorted(values) for key, values in all_kinds.read_keyed_state(STATES, "list")}
    assert lists == {(remainder, "key"): found for remainder, found in by_key.items()}
    maps = sorted(all_kinds.read_map_state(STATES, "map"))
    gone = {number - 6 for number in range(21, 31, 3)}
    kept = [(r, n) for r, found in by_key.items() for n in found if n not in gone]
    assert maps == sorted(((r, "key"), n, f"v{n}") for r, n in kept)
    assert {key for key, _ in all_kinds.read_keyed_state(STATES, "bare")} == set(lists)
    limited = dict(all_kinds.read_keyed_state(STATES, "limited"))
    assert all(value in lists[key] for key, value in limited.items())
    rules = dict(all_kinds.read_broadcast_state(OperatorIdentifier.for_uid("rules"), "rules"))
    assert rules == {f"rule {number}": number for number in range(1, 5)}


def test_errors_for_missing_names_list_the_existing_ones(all_kinds: SavepointReader, tmp_path: Path) -> None:
    with pytest.raises(StateNotFoundError, match=r"'KEYED PROCESS' has no state 'lost'; it has 'bare' \(value\)"):
        list(all_kinds.read_keyed_state(STATES, "lost"))
    with pytest.raises(StateNotFoundError, match=r"'map' .* is a map state, expected value"):
        list(all_kinds.read_keyed_state(STATES, "map"))
    with pytest.raises(StateNotFoundError, match=r"no operator 00 in .*; found .*'KEYED PROCESS' \("):
        list(all_kinds.read_keyed_state(OperatorIdentifier.for_uid_hash("00"), "map"))
    with pytest.raises(CheckpointNotFoundError):
        SavepointReader.read(str(tmp_path / "nowhere"))


@pytest.mark.parametrize("parallelism", [1, 2, 5])
def test_a_job_resumes_from_written_state(parallelism: int, tmp_path: Path) -> None:
    old = savepoint_of(tmp_path / "old", counts(environment(2)))
    read = dict(SavepointReader.read(old).read_keyed_state(COUNT, "count"))
    writer = SavepointWriter.from_existing_savepoint(old)
    writer.with_keyed_state(COUNT, DESCRIPTOR, ((key, count + 1000) for key, count in read.items()), Types.LONG())
    new = writer.write(str(tmp_path / "new"))
    expected = Counter(number % KEYS for number in range(LAST + 1))
    found = finals(run_local(counts(environment(parallelism, new))))
    assert found == {key: count + (1000 if key in read else 0) for key, count in expected.items()}
    with pytest.raises(SavepointWriteError, match="there is a savepoint in"):
        writer.write(new)


def test_a_job_starts_from_a_savepoint_written_by_hand(tmp_path: Path) -> None:
    writer = SavepointWriter.new_savepoint(max_parallelism=64)
    writer.with_keyed_state(COUNT, DESCRIPTOR, ((key, 500) for key in range(5)), Types.LONG())
    writer.with_keyed_state(
        OperatorIdentifier.for_uid("maps"), RULES, [("a", {"x": 1, "y": 2}), ("b", {"z": 3})], Types.STRING()
    )
    path = writer.write(str(tmp_path / "new"))
    maps = sorted(SavepointReader.read(path).read_map_state(OperatorIdentifier.for_uid("maps"), "rules"))
    assert maps == [("a", "x", 1), ("a", "y", 2), ("b", "z", 3)]
    writer.remove_operator(OperatorIdentifier.for_uid("maps"))
    result = run_local(counts(environment(3, writer.write(str(tmp_path / "counts")))))
    pairs = [tuple(map(int, line.split("(")[1].rstrip(")").split(","))) for line in result.lines]
    highest = {key: max(count for k, count in pairs if k == key) for key, _ in pairs}
    expected = Counter(number % KEYS for number in range(LAST + 1))
    assert highest == {key: count + (500 if key < 5 else 0) for key, count in expected.items()}


def test_savepoints_that_cannot_be_written_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(SavepointWriteError, match="there is nothing to write"):
        SavepointWriter.new_savepoint().write(str(tmp_path / "empty"))
    with pytest.raises(SavepointWriteError, match="there is no operator"):
        SavepointWriter.new_savepoint().remove_operator(COUNT)
    limited = ValueStateDescriptor("limited", Types.LONG())
    limited.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    with pytest.raises(SavepointWriteError, match="'limited' has a time to live"):
        SavepointWriter.new_savepoint().with_keyed_state(COUNT, limited, [])


def test_the_command_shows_operators_states_types_keys_and_sizes(tmp_path: Path) -> None:
    path = savepoint_of(tmp_path, states(environment(2)), batches=20)
    shown = CliRunner().invoke(cli, ["savepoint", "inspect", path])
    assert shown.exit_code == 0, shown.output
    assert "Savepoint 4 of job" in shown.output
    lines = [line.split()[:5] for line in shown.output.splitlines() if line.startswith(("  bare", "  map", "  rules"))]
    assert lines == [
        ["bare", "value", "tuple", "dict", "3"],
        ["map", "map", "tuple", "String", "27"],
        ["rules", "broadcast", "String", "Long", "4"],
    ]
    found = json.loads(CliRunner().invoke(cli, ["savepoint", "inspect", path, "--output", "json"]).output)
    assert {state["name"] for operator in found["operators"] for state in operator["states"]} >= {"list", "limited"}
    missing = CliRunner().invoke(cli, ["savepoint", "inspect", str(tmp_path / "nowhere")])
    assert (missing.exit_code, "no checkpoint or savepoint at" in missing.output) == (1, True)


@pytest.mark.spark
def test_spark_reads_the_subtasks_in_parallel(all_kinds: SavepointReader) -> None:
    from pyspark.sql import SparkSession

    from firesteel.entrypoint.spark_session import shared_gateway

    session = SparkSession(shared_gateway({}).context())
    schema = "key struct<number: long, text: string>, map_key long, value string"
    found = all_kinds.to_dataframe(session, STATES, "map", schema)
    assert found.count() == 27
    assert found.where("key.number = 2 and map_key = 2").first()["value"] == "v2"
    rules = all_kinds.to_dataframe(session, OperatorIdentifier.for_uid("rules"), "rules")
    assert sorted(tuple(row) for row in rules.collect()) == [(f"rule {number}", number) for number in range(1, 5)]


def _written(writer: SavepointWriter, tmp_path: Path) -> SavepointReader:
    return SavepointReader.read(writer.write(str(tmp_path / "written")))


def test_a_state_that_is_set_twice_has_the_last_entries(tmp_path: Path) -> None:
    writer = SavepointWriter.new_savepoint().with_keyed_state(COUNT, DESCRIPTOR, [("a", 1), ("b", 2)])
    reader = _written(writer.with_keyed_state(COUNT, DESCRIPTOR, [("a", 9)]), tmp_path)
    assert list(reader.read_keyed_state(COUNT, "count")) == [("a", 9)]


def test_an_operator_that_is_removed_and_set_again_has_only_the_new_state(tmp_path: Path) -> None:
    other = ValueStateDescriptor("other", Types.LONG())
    first = SavepointWriter.new_savepoint().with_keyed_state(COUNT, DESCRIPTOR, [("a", 1)])
    path = first.with_keyed_state(COUNT, other, [("a", 2)]).write(str(tmp_path / "first"))
    writer = SavepointWriter.from_existing_savepoint(path).remove_operator(COUNT)
    reader = _written(writer.with_keyed_state(COUNT, DESCRIPTOR, [("b", 3)]), tmp_path)
    assert list(reader.read_keyed_state(COUNT, "count")) == [("b", 3)]
    with pytest.raises(StateNotFoundError):
        list(reader.read_keyed_state(COUNT, "other"))


def test_an_added_operator_that_is_removed_is_not_written(tmp_path: Path) -> None:
    writer = SavepointWriter.new_savepoint().with_keyed_state(COUNT, DESCRIPTOR, [("a", 1)])
    writer.with_keyed_state(STATES, DESCRIPTOR, [("b", 2)]).remove_operator(COUNT)
    reader = _written(writer, tmp_path)
    assert list(reader.read_keyed_state(STATES, "count")) == [("b", 2)]
    with pytest.raises(StateNotFoundError):
        list(reader.read_keyed_state(COUNT, "count"))


def test_the_difference_of_savepoints(tmp_path: Path) -> None:
    """It counts by entry, whatever the parallelism, and does not count times of renewal."""
    first = savepoint_of(tmp_path / "first", states(environment(2)), batches=2)
    second = savepoint_of(tmp_path / "second", states(environment(3)), batches=20)
    again = savepoint_of(tmp_path / "again", states(environment(1)), batches=25)
    reader, later = SavepointReader.read(first), SavepointReader.read(second)
    maps = [{(key, at) for key, at, _ in r.read_map_state(STATES, "map")} for r in (reader, later)]
    found = {(s.operator_id, s.name): s for s in compare_savepoints(first, second).states}
    of_map = found[STATES.operator_id, "map"]
    assert (of_map.added, of_map.removed) == (len(maps[1] - maps[0]), len(maps[0] - maps[1]))
    assert of_map.added
    assert of_map.changed == 0
    assert of_map.same == len(maps[0] & maps[1])
    assert found[STATES.operator_id, "bare"].changed == 3
    assert len(found[STATES.operator_id, "bare"].keys) == 3
    assert not any(state.differs for state in compare_savepoints(first, first).states)
    same = [state for state in compare_savepoints(second, again).states if state.name in ("list", "bare", "limited")]
    assert len(same) == 3
    assert not any(state.added or state.removed for state in same)

    shown = CliRunner().invoke(cli, ["savepoint", "diff", first, second])
    assert shown.exit_code == 0, shown.output
    assert "~(0, 'key')" in shown.output
    data = json.loads(CliRunner().invoke(cli, ["savepoint", "diff", first, second, "--output", "json"]).output)
    assert {state["name"] for state in data["states"]} >= {"list", "map", "bare", "limited", "rules"}
    equal = CliRunner().invoke(cli, ["savepoint", "diff", first, first])
    assert equal.output == f"The states of {first} and {first} are the same.\n"


def test_each_savepoint_command_has_help() -> None:
    for name in ("take", "inspect", "diff"):
        shown = CliRunner().invoke(cli, ["savepoint", name, "--help"])
        assert shown.exit_code == 0
        assert f"savepoint {name}" in shown.output
    assert "inspect" in CliRunner().invoke(cli, ["savepoint", "--help"]).output


def test_a_written_state_replaces_one_of_another_type_or_with_a_time_to_live(tmp_path: Path) -> None:
    path = savepoint_of(tmp_path / "first", states(environment(2)), batches=20)
    writer = SavepointWriter.from_existing_savepoint(path)
    for name in ("bare", "limited"):
        writer.with_keyed_state(STATES, ValueStateDescriptor(name, Types.STRING()), [((0, "key"), "new")])
    written = writer.write(str(tmp_path / "second"))
    reader = SavepointReader.read(written)
    [operator] = [o for o in inspect_savepoint(written).operators if o.operator_id == STATES.operator_id]
    assert {s.name: (s.shown_kind, s.value_type) for s in operator.states if s.name in ("bare", "limited")} == {
        "bare": ("value", "String"),
        "limited": ("value", "String"),
    }
    assert list(reader.read_keyed_state(STATES, "limited")) == [((0, "key"), "new")]
    assert list(reader.read_keyed_state(STATES, "bare")) == [((0, "key"), "new")]


def test_a_written_state_replaces_one_of_another_kind(tmp_path: Path) -> None:
    path = savepoint_of(tmp_path / "first", states(environment(2)), batches=20)
    writer = SavepointWriter.from_existing_savepoint(path)
    writer.with_keyed_state(STATES, ValueStateDescriptor("map", Types.STRING()), [((0, "key"), "new")])
    writer.with_keyed_state(STATES, RULES, [((0, "key"), {"x": 1})])
    writer.with_keyed_state(STATES, ValueStateDescriptor(RULES.name, Types.LONG()), [((0, "key"), 7)])
    written = writer.write(str(tmp_path / "second"))
    [operator] = [o for o in inspect_savepoint(written).operators if o.operator_id == STATES.operator_id]
    kinds = [(s.name, s.shown_kind) for s in operator.states if s.name in ("map", RULES.name)]
    assert sorted(kinds) == [("map", "value"), (RULES.name, "value")]


def test_a_savepoint_with_nan_does_not_differ_from_itself(tmp_path: Path) -> None:
    entries = [("a", float("nan")), ("b", 1.0)]
    descriptor = ValueStateDescriptor("v", Types.DOUBLE())
    writer = SavepointWriter.new_savepoint().with_keyed_state(COUNT, descriptor, entries, key_type=Types.STRING())
    path = writer.write(str(tmp_path / "nan"))
    [state] = compare_savepoints(path, path).states
    assert state.counts == (0, 0, 0, 2)
