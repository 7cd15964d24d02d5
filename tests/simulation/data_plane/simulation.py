"""One seed: a job, its leaders and slots, and the injected faults, until the job has ended and all is idle."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from contextlib import chdir, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any
from unittest import mock

from firesteel.common.encoding.program_values import program_value
from firesteel.common.files.remote_path import AnyPath
from firesteel.common.options.checkpointing_options import (
    CHECKPOINTING_MAX_CONCURRENT,
    CHECKPOINTING_NUM_RETAINED,
    CHECKPOINTING_TIMEOUT,
    CHECKPOINTING_TOLERABLE_FAILURES,
)
from firesteel.connectors.files.committer import FinishedPart
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.stored_checkpoints import mark_as_running
from firesteel.operators.sinks.committables import SinkCommittables
from firesteel.task import checkpoint_metadata
from firesteel.task.checkpoint_metadata import CheckpointMetadata, checkpoints_in, read_metadata
from firesteel.task.state_file import StateFileError, check_state_file
from firesteel.task.version_store import run_of
from tests.simulation.core.seed import Seed, merging_early, simulation
from tests.simulation.data_plane.cluster import Faults, SimulatedJobCluster
from tests.simulation.data_plane.job import JOB_ID, OUTPUT, SEEN, job, with_options, wrong_with
from tests.simulation.data_plane.object_store import ObjectStore, SimulatedThreads, StoreFaults
from tests.simulation.data_plane.processes import Scheduler

CHECK_EVERY = 25
"""Steps between two looks at what must always hold."""

MOST_STEPS = 60_000
"""Steps after which the simulation fails; with an object store, whose requests are steps, three times as many."""

STORE_EVERY = 6
"""One seed in so many keeps checkpoints in an object store."""

RESCALE_EVERY = 4
"""One seed in so many changes the parallelism from run to run, and after some checkpoints."""

QUIET_AFTER = 6_000
"""Steps after which nothing goes wrong any more and deposed leaders learn it, so that the job comes to its end."""


@simulation
def simulate(seed: Seed) -> None:
    """A job, its leaders and slots, and faults."""
    SEEN.clear()
    with seed.directory() as directory, chdir(directory):
        _Run(seed, directory).run()


_Kept = tuple[CheckpointMetadata, ...]


class _Run:
    def __init__(self, seed: Seed, directory: Path) -> None:
        self._seed = seed
        uses_store = seed.number % STORE_EVERY == 0
        seed.most_steps = MOST_STEPS * (3 if uses_store else 1)
        seed.now = lambda: f"{seed.steps}:"
        self._scheduler = Scheduler(seed)
        self._decided: set[str] = set()
        (directory / OUTPUT).mkdir()
        self._output = directory / OUTPUT
        job_directory = directory / "host-0" / JOB_ID
        job_directory.parent.mkdir()
        self._cluster = SimulatedJobCluster(
            self._scheduler,
            _faults(seed),
            job(seed.chance.choice(["rolling", "whole", "compacting"])),
            job_directory,
            job_directory,
        )
        self._objects: ObjectStore | None = None
        self._retained = 1
        if seed.number % RESCALE_EVERY == 2:
            self._cluster.rescales = seed.further(11)
        if uses_store:
            self._use_store(seed.further(2))

    def _use_store(self, chance: random.Random) -> None:
        """Keep checkpoints in an object store, and give hosts disks of their own."""
        cluster = self._cluster
        faults = StoreFaults(chance.choice([0.0, 0.05]), chance.choice([0.0, 0.05]), chance.choice([0.0, 0.05]))
        # Further choices have a generator of their own, which leaves other seeds as they were.
        further = self._seed.further(7)
        concurrent = further.choice([1, 2, 4])
        if concurrent > 1:  # Uploads take as long as several batches, of which there are more.
            faults = replace(faults, slow_upload=further.choice([0.2, 0.5]))
            self._cluster.idle = 0.6
            self._cluster.manual = further.choice([0.0, 0.1])
        self._objects = ObjectStore(self._scheduler, chance, faults)
        cluster.store = self._objects.path(JOB_ID)
        mark_as_running(cluster.store)
        cluster.hosts = chance.choice([1, 2])
        cluster.faults = replace(cluster.faults, lose_host=chance.choice([0.0, 0.001]))
        self._retained = chance.choice([1, 3])
        options = {
            CHECKPOINTING_MAX_CONCURRENT.key: str(concurrent),
            CHECKPOINTING_NUM_RETAINED.key: str(self._retained),
            CHECKPOINTING_TOLERABLE_FAILURES.key: str(chance.choice([0, 5])),
            CHECKPOINTING_TIMEOUT.key: f"{chance.choice([100, 5000])} s",
        }
        cluster.job = with_options(cluster.job, options)

    def run(self) -> None:
        """Run until the job is over and everybody has come to an end."""
        seed, cluster, scheduler = self._seed, self._cluster, self._scheduler
        write_metadata, join = checkpoint_metadata.write_metadata, JobCheckpoints.join
        with (
            scheduler.files(),
            merging_early(9) if seed.number % 2 else nullcontext(),
            self._in_virtual_time(),
            mock.patch(
                "firesteel.coordinator.checkpoint_files.write_metadata",
                lambda directory, metadata, owner, _: self._decide(write_metadata, directory, metadata, owner),
            ),
            mock.patch.object(JobCheckpoints, "join", lambda *arguments: self._joined(join(*arguments), *arguments)),
        ):
            cluster.elect()
            try:
                scheduler.run(
                    lambda: bool(seed.violations) or (cluster.is_finished and not scheduler.processes), self._between
                )
            finally:
                for process in scheduler.processes:
                    seed.log(f"{process.name} is left")
                scheduler.end()
        for process in [leader.process for leader in cluster.leaders]:
            if process.error is not None:
                seed.log(f"{process.name} ended: {type(process.error).__name__}: {process.error}")
        self._check_visible()
        if cluster.is_finished:
            for text in wrong_with(self._output):
                seed.violated(text)

    @contextmanager
    def _in_virtual_time(self) -> Iterator[None]:
        """Let checkpoints time out by steps, and threads take turns, if checkpoints are in an object store."""
        clock = SimpleNamespace(monotonic=lambda: float(self._seed.steps), time_ns=time.time_ns)
        with mock.patch("firesteel.coordinator.checkpoints.time", clock):
            if self._objects is None:
                yield
                return
            threads = partial(_threads, self._scheduler)
            with (
                mock.patch("firesteel.task.state_transfer.ThreadPoolExecutor", threads),
                mock.patch("firesteel.coordinator.checkpoints.ThreadPoolExecutor", threads),
            ):
                yield

    def _decide(self, write_metadata: Any, directory: AnyPath, metadata: CheckpointMetadata, owner: str) -> None:
        """Remember what is decided; a checkpoint that is withdrawn at once decides nothing."""
        write_metadata(directory, metadata, owner)
        with self._scheduler.unseen() if self._objects is not None else nullcontext():
            if not self._is_removed and checkpoints_in(directory.parent)[:1] == [directory]:
                self._decided |= _finals(metadata)
                self._cluster.log(f"{directory.name} is decided by run {owner}")

    def _joined(self, kept: _Kept, job: JobCheckpoints, member: object, run: int, *_: object) -> _Kept:
        """A run continues from a checkpoint of an earlier one, if checkpoints are in an object store.

        In a directory a run with a larger number removes the directory of this one, which finds that out later.
        """
        chains = kept[-1].chains.values() if kept and self._objects is not None else ()
        later = max((run_of(PurePath(file.path).parents[2]) for chain in chains for file in chain), default=0)
        if later > run:
            self._seed.violated(f"run {run} continues from a checkpoint of run {later}")
        return kept

    @property
    def _is_removed(self) -> bool:
        """Whether the job has ended and its directory was removed; what a deposed leader still writes, it withdraws."""
        return self._objects is not None and f"{JOB_ID}/_job" not in self._objects.objects

    def _between(self) -> None:
        cluster = self._cluster
        if self._seed.steps > QUIET_AFTER:
            cluster.faults = Faults()
            cluster.tell_deposed()
            if self._objects is not None:
                self._objects.faults = StoreFaults()
        cluster.befall()
        if self._seed.steps % CHECK_EVERY == 0:
            self._check_visible()
            self._check_newest()

    def _check_visible(self) -> None:
        """Nothing undecided is visible; a leader may have been killed right after it decided."""
        for directory in [] if self._is_removed else checkpoints_in(self._cluster.store)[:1]:
            with suppress(StateFileError):
                self._decided |= _finals(read_metadata(directory))
        for path in self._output.glob("[!.]*"):
            if path.name not in self._decided:
                self._seed.violated(f"{path.name} is visible and was never decided")

    def _check_newest(self) -> None:
        """Decided checkpoints stay readable, and the newest one committable."""
        store = self._cluster.store
        checkpoints = [] if self._is_removed else checkpoints_in(store)
        for number, directory in enumerate(checkpoints[: self._retained]):
            # An older one may be taken by a deposed leader, which withdraws it at once.
            try:
                metadata = read_metadata(directory)
                for path in metadata.files():
                    check_state_file(store / path)
            except StateFileError as error:
                self._seed.violated(f"{directory.name} can't be read: {error}")
                return
            for part in _parts(metadata) if number == 0 else ():
                if not os.path.exists(part.pending) and not os.path.exists(part.final):
                    self._seed.violated(f"{directory.name} can't be committed: {part.pending} is gone")


def _threads(scheduler: Scheduler, *_: Any, **__: Any) -> SimulatedThreads:
    return SimulatedThreads(scheduler)


def _faults(seed: Seed) -> Faults:
    """Return the faults of a seed: some kinds, more or less often."""
    likely = seed.likely
    return Faults(
        kill_slot=likely(0.002, 0.01),
        kill_leader=likely(0.0005, 0.002),
        pause=likely(0.001, 0.01),
        depose=likely(0.0005, 0.002),
        copy=likely(0.01, 0.1),
        late_copy=likely(0.1, 0.4),
        lose_output=likely(0.1, 0.4),
        lose_worker=likely(0.02, 0.1),
    )


def _parts(metadata: CheckpointMetadata) -> list[FinishedPart]:
    return [
        request.committable
        for committable in program_value(metadata.states[0].committables)
        if isinstance(committable, SinkCommittables)
        for request in committable.requests
        if isinstance(request.committable, FinishedPart)
    ]


def _finals(metadata: CheckpointMetadata) -> set[str]:
    return {os.path.basename(part.final) for part in _parts(metadata)}
