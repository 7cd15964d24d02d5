"""Jobs that start from checkpoints and savepoints of other jobs: other parallelism, other programs, damaged files."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Configuration, Duration, Types, WatermarkStrategy
from firesteel.common.options.state_options import RECOVERY_CLAIM_MODE, RECOVERY_IGNORE_UNCLAIMED, RECOVERY_PATH
from firesteel.common.time import Time
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import BroadcastProcessFunction, KeyedProcessFunction
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.graph.parallelism import set_parallelism
from firesteel.task.checkpoint_metadata import CheckpointExistsError, CheckpointNotFoundError, checkpoints_in
from firesteel.task.restore import StateRestoreError
from firesteel.task.state_file import StateFileError
from firesteel.testing import LocalResult, run_local
from firesteel.testing.local_job import _job_graph_of, _LocalJob

pytestmark = pytest.mark.slow

LAST = 199
KEYS = 23


class Count(KeyedProcessFunction):
    """Counts per key, and says how many there were when all input was read."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(2**60)
        yield ctx.get_current_key(), count

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), -self.count.value()


def environment(parallelism: int, restore: Path | str | None = None, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    if restore is not None:
        configuration.set_string(RECOVERY_PATH.key, str(restore))
    for key, value in options.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    return env


def counts(env: StreamExecutionEnvironment, uid: str = "count", max_parallelism: int | None = None) -> Any:
    source = NumberSequenceSource(0, LAST)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).uid("numbers")
    counted = numbers.key_by(lambda number: number % KEYS, Types.LONG()).process(Count()).uid(uid).name("counter")
    if max_parallelism is not None:
        counted.set_max_parallelism(max_parallelism)
    counted.print().uid("out")
    return env


def finals(*results: LocalResult) -> dict[int, int]:
    """Return the final output of the timers: key -> count."""
    found = [tuple(map(int, re.findall(r"-?\d+", line.split(">")[-1]))) for r in results for line in r.lines]
    last = [(key, -count) for key, count in found if count < 0]
    assert len(last) == len(dict(last)), "a key ended twice"
    return dict(last)


BACKENDS = st.sampled_from(["hashmap", "rocksdb"]).map(
    lambda kind: {"state.backend.type": kind, "state.backend.rocksdb.memory.fixed-per-slot": "2kb"}
)
EXPECTED = dict(Counter(number % KEYS for number in range(LAST + 1)))


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 6), st.integers(1, 30), BACKENDS, BACKENDS)
def test_a_savepoint_is_restored_in_any_parallelism_and_back_end(
    tmp_path_factory: pytest.TempPathFactory,
    before: int,
    after: int,
    batches: int,
    elements: int,
    backend: dict[str, str],
    later_backend: dict[str, str],
) -> None:
    tmp_path = tmp_path_factory.mktemp("savepoint")
    program = counts(environment(before, **backend))
    first = run_local(program, batch_elements=elements, batches=batches, savepoint=tmp_path)
    second = run_local(counts(environment(after, first.savepoint, **later_backend)), batch_elements=elements)
    # A savepoint after the end leaves nothing to do: the timers have fired.
    assert finals(first, second) == EXPECTED


def test_a_savepoint_is_independent_of_its_job(tmp_path: Path) -> None:
    first = run_local(counts(environment(2)), batch_elements=5, batches=4, savepoint=tmp_path)
    assert first.savepoint is not None
    moved = tmp_path / "moved"
    first.savepoint.rename(moved)
    assert finals(run_local(counts(environment(3, moved)))) == EXPECTED
    assert finals(run_local(counts(environment(3, moved / "_metadata")))) == EXPECTED


def test_a_killed_job_resumes_from_its_last_checkpoint(tmp_path: Path) -> None:
    run_local(counts(environment(2)), batch_elements=5, batches=4, checkpoint=tmp_path)
    assert [path.name for path in checkpoints_in(tmp_path)] == ["chk-4"]
    assert finals(run_local(counts(environment(2)), batch_elements=5, checkpoint=tmp_path)) == EXPECTED
    assert finals(run_local(counts(environment(4, checkpoints_in(tmp_path)[0])))) == {}


def test_a_job_with_its_own_checkpoints_no_longer_needs_its_initial_one(tmp_path: Path) -> None:
    before = run_local(counts(environment(2), max_parallelism=4), batch_elements=5, batches=4, savepoint=tmp_path)
    savepoint, directory = before.savepoint, tmp_path / "job"
    assert savepoint is not None
    run_local(counts(environment(3, savepoint)), batch_elements=5, batches=2, checkpoint=directory)
    shutil.rmtree(savepoint)
    assert finals(run_local(counts(environment(3, savepoint)), checkpoint=directory)) == EXPECTED


def test_the_configured_number_of_checkpoints_is_retained_and_each_is_complete(tmp_path: Path) -> None:
    options = {"execution.checkpointing.num-retained": "3"}
    run_local(counts(environment(2, **options)), batch_elements=5, batches=9, checkpoint=tmp_path)
    kept = checkpoints_in(tmp_path)
    assert [path.name for path in kept] == ["chk-9", "chk-8", "chk-7"]
    for path in kept:
        assert finals(run_local(counts(environment(3, path)))) == EXPECTED


def test_files_and_bytes_stay_bounded(tmp_path: Path) -> None:
    sizes = []
    for batches in (100, 1_000):
        directory = tmp_path / str(batches)
        env = environment(1)
        source = NumberSequenceSource(0, 1_000_000)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
        numbers.key_by(lambda number: number % KEYS, Types.LONG()).process(Count()).print()
        run_local(env, batch_elements=10, batches=batches, checkpoint=directory)
        files = [path for path in directory.rglob("*") if path.is_file()]
        sizes.append((len(files), sum(path.stat().st_size for path in files)))
    (few, few_bytes), (many, many_bytes) = sizes
    assert many <= few + 10
    assert many_bytes < 2 * few_bytes + 20_000


def test_state_of_an_operator_that_is_gone_is_refused_unless_allowed(tmp_path: Path) -> None:
    first = run_local(counts(environment(2)), batch_elements=5, batches=4, savepoint=tmp_path)
    with pytest.raises(StateRestoreError, match=r"'counter' \(\w+\).*not available.*--allowNonRestoredState"):
        run_local(counts(environment(2, first.savepoint), uid="another"))
    allowed = run_local(
        counts(environment(2, first.savepoint, **{RECOVERY_IGNORE_UNCLAIMED.key: "true"}), uid="another")
    )
    assert sum(finals(allowed).values()) < LAST + 1


@pytest.mark.parametrize(("mode", "is_kept"), [("CLAIM", False), ("NO_CLAIM", True)])
@pytest.mark.parametrize("form", ["{}", "file:{}/_metadata", "file://{}"])
def test_a_claimed_savepoint_is_removed_after_enough_checkpoints(
    tmp_path: Path, mode: str, is_kept: bool, form: str
) -> None:
    first = run_local(counts(environment(2)), batch_elements=5, batches=4, savepoint=tmp_path)
    assert first.savepoint is not None
    options = {RECOVERY_CLAIM_MODE.key: mode, "execution.checkpointing.num-retained": "2"}
    named = form.format(first.savepoint)
    run_local(counts(environment(2, named, **options)), batch_elements=5, batches=1, checkpoint=tmp_path / "job")
    assert first.savepoint.exists()
    last = run_local(counts(environment(2, named, **options)), batch_elements=5, checkpoint=tmp_path / "job")
    assert first.savepoint.exists() == is_kept
    assert finals(last) == EXPECTED


def test_a_claimed_checkpoint_is_removed_with_its_job(tmp_path: Path) -> None:
    run_local(counts(environment(2)), batch_elements=5, batches=4, checkpoint=tmp_path / "first")
    (claimed,) = checkpoints_in(tmp_path / "first")
    env = environment(2, claimed, **{RECOVERY_CLAIM_MODE.key: "CLAIM"})
    assert finals(run_local(counts(env), batch_elements=5, checkpoint=tmp_path / "second")) == EXPECTED
    assert not (tmp_path / "first").exists()


def test_an_unknown_claim_mode_is_refused(tmp_path: Path) -> None:
    first = run_local(counts(environment(2)), batch_elements=5, batches=4, savepoint=tmp_path)
    with pytest.raises(ValueError, match="claim-mode': 'BORROW' is unknown; allowed: NO_CLAIM, CLAIM, LEGACY"):
        run_local(counts(environment(2, first.savepoint, **{RECOVERY_CLAIM_MODE.key: "BORROW"})))


def test_operators_without_state_may_come_and_go(tmp_path: Path) -> None:
    first = run_local(counts(environment(2)), batch_elements=5, batches=4, savepoint=tmp_path)
    env = environment(2, first.savepoint)
    source = NumberSequenceSource(0, LAST)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).uid("numbers")
    mapped = numbers.map(lambda number: number, Types.LONG()).rebalance().filter(lambda number: True)
    mapped.key_by(lambda number: number % KEYS, Types.LONG()).process(Count()).uid("count").print()
    assert finals(run_local(env)) == EXPECTED


def test_the_max_parallelism_of_a_savepoint_is_adopted_or_the_job_rejected(tmp_path: Path) -> None:
    first = run_local(counts(environment(2), max_parallelism=4), batch_elements=5, batches=4, savepoint=tmp_path)
    assert finals(run_local(counts(environment(4, first.savepoint)))) == EXPECTED
    with pytest.raises(StateRestoreError, match=r"max parallelism 4 is lower than the requested parallelism 5"):
        run_local(counts(environment(5, first.savepoint)))
    with pytest.raises(StateRestoreError, match=r"written with max parallelism 4, the new program sets 8"):
        run_local(counts(environment(2, first.savepoint), max_parallelism=8))


def test_a_program_that_sets_none_has_the_max_parallelism_of_its_state(tmp_path: Path) -> None:
    first = run_local(counts(environment(2)), batch_elements=5, batches=4, savepoint=tmp_path)
    assert finals(run_local(counts(environment(86, first.savepoint)))) == EXPECTED  # by itself it would have 256


def test_a_damaged_file_is_named_and_the_newest_intact_checkpoint_is_offered(tmp_path: Path) -> None:
    options = {"execution.checkpointing.num-retained": "5"}
    run_local(counts(environment(2, **options)), batch_elements=5, batches=6, checkpoint=tmp_path)
    newest, second, *_ = checkpoints_in(tmp_path)
    damaged = sorted((tmp_path / "versions-1" / "1" / "0").glob("5-1.*"))[0]
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    with pytest.raises(StateFileError, match=rf"{damaged} is damaged.* the newest intact checkpoint is {second}$"):
        run_local(counts(environment(2, newest)))
    assert finals(run_local(counts(environment(2, second)))) == EXPECTED


def test_an_invalid_checkpoint_path_is_refused_with_the_existing_ones(tmp_path: Path) -> None:
    with pytest.raises(CheckpointNotFoundError, match=r"/nowhere: the directory does not exist"):
        run_local(counts(environment(1, tmp_path / "nowhere")))
    with pytest.raises(CheckpointNotFoundError, match=r"has no _metadata file; it may be incomplete"):
        run_local(counts(environment(1, tmp_path)))
    run_local(counts(environment(2)), batch_elements=5, batches=2, checkpoint=tmp_path)
    with pytest.raises(CheckpointNotFoundError, match=rf"the newest one there is {tmp_path}/chk-2"):
        run_local(counts(environment(1, tmp_path)))
    with pytest.raises(CheckpointNotFoundError, match=rf"the newest one there is {tmp_path}/chk-2"):
        run_local(counts(environment(1, tmp_path / "chk-1")))


class Remember(BroadcastProcessFunction):
    """Emits the elements that are among the broadcast ones."""

    DESCRIPTOR = MapStateDescriptor("rules", Types.LONG(), Types.BOOLEAN())

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield from [value] if ctx.get_broadcast_state(self.DESCRIPTOR).contains(value % 10) else []

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(self.DESCRIPTOR).put(value, True)


def test_broadcast_state_reaches_all_subtasks(tmp_path: Path) -> None:
    def program(env: StreamExecutionEnvironment, rules: list[int]) -> StreamExecutionEnvironment:
        source = NumberSequenceSource(0, 99)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).uid("numbers")
        broadcast = env.from_collection(rules, Types.LONG()).uid("rules").broadcast(Remember.DESCRIPTOR)
        numbers.rebalance().connect(broadcast).process(Remember(), Types.LONG()).uid("match").print()
        return env

    first = run_local(program(environment(2), [3, 7]), batch_elements=2, batches=2, savepoint=tmp_path)
    second = run_local(program(environment(5, first.savepoint), [3, 7]))
    found = sorted(int(line.split("> ")[-1]) for line in (*first.lines, *second.lines))
    assert found == [number for number in range(100) if number % 10 in (3, 7)]


class SelfTimed(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value) * 100


def test_windows_are_restored_in_another_parallelism(tmp_path: Path) -> None:
    def program(env: StreamExecutionEnvironment) -> StreamExecutionEnvironment:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1000)).with_timestamp_assigner(
            SelfTimed()
        )
        numbers = env.from_source(NumberSequenceSource(0, LAST), strategy, "numbers", Types.LONG()).uid("numbers")
        pairs = numbers.map(lambda n: (n % 3, 1), Types.TUPLE([Types.LONG(), Types.LONG()]))
        windowed = pairs.key_by(lambda pair: pair[0], Types.LONG()).window(TumblingEventTimeWindows.of(Time.seconds(5)))
        windowed.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("window").print()
        return env

    expected = Counter(run_local(program(environment(1))).lines)
    first = run_local(program(environment(2)), batch_elements=5, batches=6, savepoint=tmp_path)
    second = run_local(program(environment(3, first.savepoint)), batch_elements=7)
    assert Counter(line.split("> ")[-1] for line in (*first.lines, *second.lines)) == expected


class Leader:
    """A JobManager that thinks to lead a job; between a batch and its checkpoint it may be paused."""

    def __init__(self, directory: Path) -> None:
        job_graph = _job_graph_of(counts(environment(2)))
        set_parallelism(job_graph, 2)
        self.job = _LocalJob(job_graph, directory, (), 5)
        self.job.recover()

    def run_batch(self) -> None:
        (region,) = self.job._regions
        self.job._run_region(region, region.enumerator.plan(0), ())

    def decide(self) -> None:
        (region,) = self.job._regions
        region.prepare()
        region.checkpoints.settle()


def test_a_paused_leader_detects_that_the_next_checkpoint_was_taken(tmp_path: Path) -> None:
    old = Leader(tmp_path)
    for _ in range(3):
        old.run_batch()
        old.decide()
    old.run_batch()  # and is paused
    new = Leader(tmp_path)
    for _ in range(2):
        new.run_batch()
        new.decide()
    with pytest.raises(CheckpointExistsError, match=r"chk-5 was already taken by another JobManager"):
        old.decide()
    assert finals(run_local(counts(environment(2)), batch_elements=5, checkpoint=tmp_path)) == EXPECTED


def test_one_of_two_leaders_decides_a_checkpoint_and_its_state_is_restored(tmp_path: Path) -> None:
    old = Leader(tmp_path)
    old.run_batch()
    old.decide()
    old.run_batch()
    new = Leader(tmp_path)
    new.run_batch()
    new.run_batch()  # its slots write the same batches, and more
    old.decide()
    with pytest.raises(CheckpointExistsError):
        new.decide()
    assert finals(run_local(counts(environment(2)), batch_elements=5, checkpoint=tmp_path)) == EXPECTED
    assert [path.name for path in tmp_path.glob("versions-*")] == ["versions-3"]
