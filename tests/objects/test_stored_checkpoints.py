"""Checkpoints in an object store: the decision, uploads and leftovers."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import RemotePath
from firesteel.coordinator.checkpoints import Checkpoints
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.part_uploads import CheckpointFailedError
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.coordinator.stored_checkpoints import mark_as_running, remove_job_directory
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.sinks.committers import Committers
from firesteel.task.batch_plan import StageReport
from firesteel.task.checkpoint_metadata import CheckpointExistsError
from firesteel.task.stage_plan import StagePlan
from firesteel.task.state_file import StateFileError, write_state_file
from firesteel.task.state_transfer import NOTHING_STORED, Stored
from firesteel.task.version_store import VersionStore
from firesteel.task.versions import Chain, VersionFile
from tests.objects.server import Bucket

pytestmark = pytest.mark.slow


class Run:
    """A run of a job with two slots, whose store is a bucket."""

    def __init__(self, bucket: Bucket, directory: Path, **options: str) -> None:
        configuration = Configuration.from_dict({f"execution.checkpointing.{k}": v for k, v in options.items()})
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2)
        source = env.from_source(NumberSequenceSource(1, 2), WatermarkStrategy.no_watermarks(), "n", Types.LONG())
        source.print()
        job_graph = env.get_stream_graph().get_job_graph()
        self.enumerator = SplitEnumerator(job_graph, {})
        self.directory = directory
        self.remote = Files(bucket.options).path(bucket.uri("job"))
        assert isinstance(self.remote, RemotePath)
        directory.mkdir(exist_ok=True)
        mark_as_running(self.remote)
        self.job = JobCheckpoints(StagePlan(job_graph), {}, directory, self.remote)
        self.taken: list[Any] = []
        self.committers = Committers(job_graph, {})
        self.checkpoints = Checkpoints(self.job, 0, lambda committables: None, self.committers, tell=self.taken.append)
        self.checkpoints.recover(self.enumerator)
        self.stores = [VersionStore(directory, slot, 0, self.remote) for slot in range(2)]
        self.chains: dict[int, Chain] = self.checkpoints.parents(0)

    def batch(self, batch_id: int, is_checkpoint: bool = False, waits: bool = False, full: bool = False) -> None:
        """Each slot writes a file, and sends what it is to send."""
        to_store, unstored, reports = self.checkpoints.to_store(), self.checkpoints.unstored(), []
        for slot, store in enumerate(self.stores):
            parent = self.chains.get(slot, ())
            kind = "delta" if parent and not full else "full"
            path = f"versions-{self.checkpoints.run}/0/{slot}/{batch_id}-1.{kind}"
            (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
            file = VersionFile(path, write_state_file(self.directory / path, [pickle.dumps(("v", None, batch_id))]), {})
            self.chains[slot] = (file,) if kind == "full" else (*parent, file)
            earlier = to_store.get((0, slot), ()), unstored.get((0, slot), ())
            sent = store.send(0, self.chains[slot], parent, *earlier, is_checkpoint, waits)
            stored = NOTHING_STORED if is_checkpoint and not waits else sent
            reports.append(StageReport(0, slot, [], [], None, self.chains[slot], 1, stored))
        self.checkpoints.batch_ended(batch_id, reports)
        if is_checkpoint:
            self.checkpoints.prepare(self.enumerator, 0.0)
        self.checkpoints.settle()

    @property
    def kept_batches(self) -> list[int]:
        """The batches to which the retained checkpoints return."""
        _, kept = self.job.files.read(in_full=True)
        return [state.batch_id for metadata in kept or () for state in metadata.states]

    def end(self) -> None:
        self.checkpoints.end(has_failed=False)
        for store in self.stores:
            store.close()


def files(*names: str) -> list[str]:
    """Return the names of the files of both slots, and of all other objects in the store."""
    both = [f"job/versions-1/0/{slot}/{name}" for slot in (0, 1) for name in names if "/" not in name]
    return sorted(["job/_job", *both, *(f"job/{name}" for name in names if "/" in name)])


def sent(bucket: Bucket) -> list[str]:
    mine = f"/{bucket.name}/job/versions"
    return [path for method, path, _ in bucket.server.requests if method == "PUT" and mine in path]


def test_a_checkpoint_is_decided_when_its_files_are_uploaded_while_batches_continue(bucket: Bucket, tmp_path: Path):
    run = Run(bucket, tmp_path)
    run.batch(0, is_checkpoint=True)
    assert run.taken == []
    assert run.checkpoints.protocol.uploads.is_busy
    while not run.taken:
        run.batch(run.checkpoints.batch_id + 1)
    assert bucket.names("job") == files("0-1.full", "chk-1/_metadata", "versions-1/claim")
    run.batch(run.checkpoints.batch_id + 1, is_checkpoint=True, waits=True)
    chains = run.job.files.read(in_full=True)[1][-1].chains
    assert len(chains[0, 0]) == run.checkpoints.batch_id + 1
    stored = {f"job/{file.path}" for chain in chains.values() for file in chain}
    assert set(bucket.names("job")) - stored == {"job/_job", "job/chk-2/_metadata", "job/versions-1/claim"}
    assert len(sent(bucket)) == len(stored) + 1
    run.end()


def test_files_stay_as_long_as_a_retained_checkpoint_needs_them(bucket: Bucket, tmp_path: Path):
    run = Run(bucket, tmp_path, **{"num-retained": "2"})
    run.batch(0, is_checkpoint=True, waits=True)
    run.batch(1, is_checkpoint=True, waits=True)
    run.batch(2, is_checkpoint=True, waits=True, full=True)
    run.checkpoints._janitor.submit(lambda: None).result()
    two = ["chk-2/_metadata", "chk-3/_metadata", "versions-1/claim"]
    assert bucket.names("job") == files("0-1.full", "1-1.delta", "2-1.full", *two)
    run.batch(3, is_checkpoint=True, waits=True)
    run.checkpoints._janitor.submit(lambda: None).result()
    run.end()
    assert bucket.names("job") == files(
        "2-1.full", "3-1.delta", "chk-3/_metadata", "chk-4/_metadata", "versions-1/claim"
    )
    remove_job_directory(run.job.store)
    assert bucket.names("job") == []


@contextmanager
def holding(bucket: Bucket, *names: str) -> Iterator[Callable[[str], None]]:
    """Let uploads of files wait until a call of the returned function, or the end."""
    gates = {name: threading.Event() for name in names}

    def wait(method: str, path: str, query: str) -> None:
        for name, gate in gates.items():
            if method == "PUT" and path.endswith(name):
                gate.wait()

    with bucket.server.failing(wait):
        try:
            yield lambda name: gates[name].set()
        finally:
            for gate in gates.values():
                gate.set()


def test_no_leader_brings_back_a_job_that_has_ended(bucket: Bucket, tmp_path: Path):
    first = Run(bucket, tmp_path)
    remove_job_directory(first.job.store)
    late = Checkpoints(
        JobCheckpoints(first.job.plan, {}, tmp_path, first.remote), 0, lambda committables: None, first.committers
    )
    with pytest.raises(FileNotFoundError, match="another JobManager has ended the job"):
        late.recover(first.enumerator)


def test_pending_checkpoints_share_files_and_complete_in_order(bucket: Bucket, tmp_path: Path):
    run = Run(bucket, tmp_path, **{"max-concurrent-checkpoints": "2"})
    with holding(bucket, "/0/0/0-1.full", "/0/0/1-1.delta") as let_pass:
        run.batch(0, is_checkpoint=True)
        assert run.checkpoints.protocol.uploads.may_begin(time.monotonic())
        run.batch(1, is_checkpoint=True)
        run.batch(2)
        assert (run.taken, run.checkpoints.protocol.uploads.may_begin(time.monotonic())) == ([], False)
        let_pass("/0/0/0-1.full")
        while not run.taken:
            run.batch(run.checkpoints.batch_id + 1)
        assert run.kept_batches == [0]
        assert run.checkpoints.protocol.uploads.is_busy
        let_pass("/0/0/1-1.delta")
        while len(run.taken) < 2:
            run.batch(run.checkpoints.batch_id + 1)
    assert run.kept_batches == [1]
    assert bucket.names("job") == files("0-1.full", "1-1.delta", "chk-2/_metadata", "versions-1/claim")
    assert len(sent(bucket)) == 4 + 1, "each file is uploaded once"
    run.end()


def test_a_checkpoint_that_is_overtaken_is_subsumed_and_leaves_no_files(bucket: Bucket, tmp_path: Path):
    run = Run(bucket, tmp_path, **{"max-concurrent-checkpoints": "2"})
    with holding(bucket, "/0/0/0-1.full") as let_pass:
        run.batch(0, is_checkpoint=True)
        run.batch(1, is_checkpoint=True, full=True)
        while not run.taken:
            run.batch(run.checkpoints.batch_id + 1)
        assert run.kept_batches == [1]
        assert not run.checkpoints.protocol.uploads.is_busy
        let_pass("/0/0/0-1.full")
        while "job/versions-1/0/0/0-1.full" not in bucket.names("job"):
            pass
    last = run.checkpoints.batch_id + 1
    run.batch(last, is_checkpoint=True, waits=True, full=True)
    run.checkpoints._janitor.submit(lambda: None).result()
    assert bucket.names("job") == files(f"{last}-1.full", "chk-2/_metadata", "versions-1/claim")
    run.end()


def test_a_file_that_a_batch_merges_is_sent_for_a_pending_checkpoint(bucket: Bucket, tmp_path: Path):
    run = Run(bucket, tmp_path)
    store, chains = run.stores[0], []
    for batch_id in range(3):
        path = f"versions-1/0/0/{batch_id}-1.full"
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        chains.append((VersionFile(path, write_state_file(tmp_path / path, [b"x"]), {}),))
    first, second, third = ((chain[0].path,) for chain in chains)
    assert store.send(0, chains[1], chains[0], (), first, True, True).paths == {*second}, "nothing waits for the first"
    assert store.send(0, chains[2], chains[1], second, (), True, True).paths == {*second, *third}
    run.end()


def test_another_host_resumes_and_removes_leftovers_of_the_first(bucket: Bucket, tmp_path: Path):
    first = Run(bucket, tmp_path / "first")
    first.batch(0, is_checkpoint=True, waits=True)
    first.batch(1, is_checkpoint=True)
    second = Run(bucket, tmp_path / "second")
    assert (second.checkpoints.run, second.checkpoints.batch_id) == (2, 0)
    assert [file.path for file in second.chains[0]] == ["versions-1/0/0/0-1.full"]
    second.batch(1, is_checkpoint=True, waits=True, full=True)
    with pytest.raises(CheckpointExistsError, match=r"s3://.*/job/chk-2 was already taken by another JobManager"):
        first.batch(2, is_checkpoint=True, waits=True)
    first.end()
    second.batch(2, is_checkpoint=True, waits=True)
    second.checkpoints._janitor.submit(lambda: None).result()
    second.end()
    left = [f"job/versions-2/0/{slot}/{name}" for slot in (0, 1) for name in ("1-1.full", "2-1.delta")]
    late = [name for name in bucket.names("job") if "versions-1" in name]
    assert set(late) <= set(files("1-1.delta", "2-1.delta"))
    assert set(bucket.names("job")) - set(late) == {*left, "job/_job", "job/chk-3/_metadata", "job/versions-2/claim"}


def test_a_missing_file_is_downloaded_and_named_if_the_store_lacks_it(bucket: Bucket, tmp_path: Path):
    run = Run(bucket, tmp_path / "first")
    run.batch(0, is_checkpoint=True, waits=True)
    run.end()
    chain = run.chains[0]
    elsewhere = VersionStore(tmp_path / "second", 0, 0, run.remote)
    assert list(elsewhere.read(chain)) == [("v", None, 0)]
    assert (tmp_path / "second" / chain[0].path).read_bytes() == (run.directory / chain[0].path).read_bytes()
    bucket.fs.rm_file(bucket.uri("job", chain[0].path))
    with pytest.raises(StateFileError, match=rf"state file s3://.*/job/{chain[0].path} is missing"):
        list(VersionStore(tmp_path / "third", 0, 0, run.remote).read(chain))


def test_the_configured_number_of_checkpoints_may_fail(bucket: Bucket, tmp_path: Path):
    run = Run(bucket, tmp_path, **{"tolerable-failed-checkpoints": "1"})
    run.stores[0].send = lambda *args: NOTHING_STORED  # type: ignore[method-assign]
    run.stores[1].send = lambda stage, chain, *args: Stored(  # type: ignore[method-assign]
        failures=tuple((file.path, "can't write s3://x: no space") for file in chain)
    )
    run.batch(0, is_checkpoint=True, waits=True)
    assert (run.taken, run.checkpoints.protocol.uploads.is_busy, run.checkpoints.protocol.uploads.needs_another) == (
        [],
        False,
        True,
    )
    with pytest.raises(CheckpointFailedError, match=r"2 checkpoints failed in a row, .*tolerable.* is 1; .*no space"):
        run.batch(1, is_checkpoint=True, waits=True)


def test_a_checkpoint_that_takes_too_long_fails(bucket: Bucket, tmp_path: Path):
    run = Run(bucket, tmp_path, timeout="0 ms")
    for store in run.stores:
        store.send = lambda *args: NOTHING_STORED  # type: ignore[method-assign]
    run.batch(0, is_checkpoint=True)
    with pytest.raises(CheckpointFailedError, match="2 files were not uploaded within 0 s"):
        run.batch(1)
