"""The part of one run of a pipelined region in its job's checkpoints.

A checkpoint is decided when its metadata, which includes all committables, is written. Only then are they committed,
and once more by each run that resumes from the checkpoint. So exactly the decided committables are committed.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from firesteel.common.encoding import encoded
from firesteel.common.files.durability import make_directory
from firesteel.common.files.remote_path import RemotePath
from firesteel.common.options.state_options import RECOVERY_IGNORE_UNCLAIMED
from firesteel.coordinator.checkpoint_messages import CommitPart, Part, Request
from firesteel.coordinator.job_checkpoints import JobCheckpoints
from firesteel.coordinator.region_checkpoints import RegionCheckpoints
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.coordinator.version_files import Chains, VersionFiles
from firesteel.errors import FiresteelError
from firesteel.operators.sinks.committables import Committable, check, remove_files
from firesteel.operators.sinks.committers import Committers
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.task.batch_plan import StageReport
from firesteel.task.checkpoint_metadata import CheckpointMetadata, RegionState
from firesteel.task.state_types import load_committables
from firesteel.task.version_store import claim_run, claim_stored_run, region_directory
from firesteel.task.versions import BatchTry, Chain

logger = logging.getLogger(__name__)


class IncompleteBatchError(FiresteelError):
    """A batch lacks reports of some slots and stages, or has too many; the arguments are the batch and the problem."""

    def __str__(self) -> str:
        return f"batch {self.args[0]} is incomplete: {self.args[1]}"


class Checkpoints:
    """The shell around the `RegionCheckpoints` of one run of a region: its files, and the commits of its sinks.

    Args:
        job: The checkpoints of the job; the run is entered there.
        region: Number of the region.
        commit: Commits the committables of sinks.
        committers: The committers of the job.
        wake: Wakes up the run's thread.
        tell: Called for each checkpoint and savepoint taken.
        interval_s: The checkpoint interval in seconds.
        tell_progress: Called with the number of checkpoints that are being stored, and of those that have failed.

    Attributes:
        protocol: Decides when the region takes part in a checkpoint, and what it commits.
        run: Number of the run, set when it begins.
        batch_id: The last completed batch; -1 if there is none.
        next_time: Time (ms) at which the region has work to do even without input, or None.
    """

    def __init__(
        self,
        job: JobCheckpoints,
        region: int,
        commit: Callable[[list[Committable]], None],
        committers: Committers,
        wake: Callable[[], None] = lambda: None,
        tell: Callable[[CheckpointStats], None] = lambda stats: None,
        interval_s: float = 0.0,
        tell_progress: Callable[[int, int], None] = lambda in_progress, failed: None,
    ) -> None:
        self._job = job
        self._member = job.enter(region, wake, tell)
        self._region = region
        self._commit = commit
        self._committers = committers
        self._slots = {(stage, slot) for stage in job.plan.stages[region] for slot in job.plan.slots_of(region)}
        self._store = job.store if isinstance(job.store, RemotePath) else None
        self._files = VersionFiles(job.directory, region, self._store)
        self._janitor = ThreadPoolExecutor(1, thread_name_prefix="store-janitor")
        self._kept: dict[int, Chains] = {}
        self._written: dict[str, dict[int, int]] = {}
        self._tell_progress = tell_progress
        self._told_in_progress = 0
        # Earlier runs may have left files; it is safe to remove these only after the first decision of this run.
        self._has_leftovers = True
        self._is_alone = False
        self._may_have_decided = False
        self.protocol = RegionCheckpoints(job.plan.job_graph.configuration, interval_s)
        self.run = 0
        self.batch_id = -1
        self.next_time: int | None = None

    def recover(self, enumerator: SplitEnumerator) -> RestoredCheckpoint | None:
        """Resume from the job's last checkpoint, else from the checkpoint that the job was started with, if any.

        A region that the last checkpoint does not have, as only others had run by then, starts like the job.

        Raises:
            CheckpointExistsError: another JobManager has taken a checkpoint.
            StateFileError: a file of it is missing or damaged.
            FileNotFoundError: the directory of the job is gone, so the job has ended.
        """
        directory = region_directory(self._job.directory, self._region)
        make_directory(directory, below=self._job.directory if self._store is None else None)
        newest_id = None
        if self._store is None:
            self.run = claim_run(directory)
        else:
            # Before the number is claimed: a checkpoint taken in between may be of a run with a larger number.
            newest_id = self._job.files.newest_id()
            self.run = claim_stored_run(region_directory(self._store, self._region), directory)
        self._files.remove_empty_runs_before(self.run)
        kept = self._job.join(self._member, self.run, newest_id)
        if kept:
            self._go_on(kept, enumerator)
        if kept and kept[-1].regions[self._region] is not None:
            metadata, source = kept[-1], self._job.files.directory_of(kept[-1].checkpoint_id)
        else:
            initial = self._job.files.initial()
            if initial is None:
                return None
            metadata, source = initial
            self._begin_with(metadata, enumerator)
        now_ms = time.time_ns() // 1_000_000
        return RestoredCheckpoint(metadata.checkpoint_id, metadata.is_savepoint, str(source), now_ms)

    def _go_on(self, kept: Sequence[CheckpointMetadata], enumerator: SplitEnumerator) -> None:
        """Resume from a checkpoint of this job, if the region had run a batch by then.

        If the job was rescaled since, its new slots have no versions yet; the old ones' files stay until the checkpoint
        is subsumed.
        """
        states = [state for metadata in kept if (state := metadata.regions[self._region]) is not None]
        for state in {state.batch_id: state for state in states}.values():
            self._keep(state)
            self._files.stored.update(file.path for chain in state.chains.values() for file in chain)
        state = kept[-1].regions[self._region]
        if state is not None:
            enumerator.restore(state.sources)
            self.batch_id, self.next_time = state.batch_id, state.next_time
            if self._job.files.has_same_layout(kept[-1], self._region):
                self._files.begin_with(state.chains)
            else:
                self._job.files.redistribute_state(kept[-1], self._region)
            # The former run may have died between the decision and its commits; committers tolerate a repetition.
            self._commit(self._decided(state))

    def _keep(self, state: RegionState) -> None:
        if state.batch_id not in self._kept:  # Two parts after one batch have the same files.
            self._kept[state.batch_id] = state.chains
            self._files.keep(state.chains)

    def _begin_with(self, metadata: CheckpointMetadata, enumerator: SplitEnumerator) -> None:
        """Start with the state of another job, which may have had other regions; the first region commits for all."""
        states = metadata.states
        enumerator.restore(*(state.sources for state in states))
        self.next_time = min((state.next_time for state in states if state.next_time is not None), default=None)
        for state in states if self._region == 0 else ():
            # Every region starts with all the splits of its sources, but a committable must not be committed by two
            # threads.
            self._commit(self._decided(state))

    def _decided(self, state: RegionState) -> list[Committable]:
        decided: list[Committable] = load_committables(state.committables, self._committers.have_own_types)
        ignores = RECOVERY_IGNORE_UNCLAIMED.of(self._job.plan.job_graph.configuration)
        return self._committers.without_unknown(decided) if ignores else decided

    def next_batch(self) -> BatchTry:
        """Return the first try of the batch after the last completed one."""
        return BatchTry(self.run, self.batch_id + 1)

    def parents(self, stage: int) -> dict[int, Chain]:
        """Return for each slot the version that a stage of the next batch starts from."""
        slots = sorted(slot for of_stage, slot in self._slots if of_stage == stage)
        return {slot: self._files.present.get((stage, slot), ()) for slot in slots}

    def batch_ended(self, batch_id: int, reports: Sequence[StageReport]) -> None:
        """Accept a batch: deliver its output, and keep the durable committables for the checkpoint.

        Raises:
            IncompleteBatchError: there is not exactly one report per slot and stage, all of the same try.
        """
        self._check_complete(batch_id, reports)
        self.batch_id = batch_id
        # Earlier tries may have written files that no report names.
        self._has_leftovers |= reports[0].try_number > 1
        self.next_time = min((r.next_time for r in reports if r.next_time is not None), default=None)
        self._files.stored.update(path for report in reports for path in report.stored.paths)
        for report in reports:
            for file in self._files.advance({(report.stage, report.slot): report.chain}):
                for operator_id, size in file.state_sizes.items():
                    self._job.files.add_size(self._written, operator_id, report.slot, size)
        committables = [committable for report in reports for committable in report.committables]
        durable = [committable for committable in committables if committable.is_durable]
        with self._logged():
            self.protocol.batch_ended(durable, [report.stored for report in reports], time.monotonic())
        shown = [committable for committable in committables if not committable.is_durable]
        # Printed and collected results are shown at once, so a job that returns to a checkpoint shows some of them
        # again.
        self._commit(shown)
        remove_files(shown)

    def _check_complete(self, batch_id: int, reports: Sequence[StageReport]) -> None:
        found = [(report.stage, report.slot) for report in reports]
        tries = {report.try_number for report in reports}
        if len(found) != len(self._slots) or set(found) != self._slots or len(tries) != 1:
            raise IncompleteBatchError(batch_id, f"{len(found)} reports of tries {sorted(tries)}: {sorted(found)}")

    def prepare(self, enumerator: SplitEnumerator, begun_s: float, covers: frozenset[Request] = frozenset()) -> None:
        """Prepare the region's part of the next checkpoint after the last batch.

        Raises:
            CheckpointFailedError: no more checkpoints may fail, or files of the last one could not be stored.
            SinkCommitError: a sink rejects its committables, so that nothing is decided.
        """
        pending = list(self.protocol.pending)
        # A request that can never succeed would fail each restart once it is part of a decision.
        check(pending, self._committers.committer)
        # From here on the metadata may be written by others; so the files are no longer this run's to remove.
        self._may_have_decided = True
        chains = dict(self._files.present)
        state = RegionState(self.batch_id, chains, enumerator.snapshot(), encoded(pending), self.next_time)
        self._keep(state)
        written, self._written = self._written, {}
        self._has_leftovers |= self.protocol.uploads.take_abandoned()
        missing = set() if self._store is None else {p for c in chains.values() for p in self._files.unstored(c)}
        with self._logged():
            self.protocol.take(Part(state, covers, begun_s, written), missing, enumerator.has_ended, time.monotonic())

    @contextmanager
    def _logged(self) -> Iterator[None]:
        uploads = self.protocol.uploads
        try:
            yield
        finally:
            declined = uploads.take_declined()
            for reason in declined:
                logger.warning("a checkpoint of job %s failed: %s", self._job.plan.job_graph.job_id, reason)
            if declined or uploads.in_progress != self._told_in_progress:
                self._told_in_progress = uploads.in_progress
                self._tell_progress(uploads.in_progress, len(declined))

    def asked(self) -> frozenset[Request]:
        """Return the requests that wait for a part of the region at this moment."""
        return self._job.directive(self._member).asked

    def to_store(self) -> Mapping[tuple[int, int], tuple[str, ...]]:
        """Return the files of each slot that pending checkpoints wait for."""
        return self.protocol.uploads.missing()

    def unstored(self) -> Mapping[tuple[int, int], tuple[str, ...]]:
        """Return the files of each slot's present version that are not in the remote store."""
        if self._store is None:
            return {}
        return {slot: files for slot, chain in self._files.present.items() if (files := self._files.unstored(chain))}

    def settle(self) -> None:
        """Report to the job, commit a decided part, if there is one, and remove files that no checkpoint needs.

        Raises:
            CheckpointExistsError: another JobManager has taken a checkpoint.
            RunIsOverError: the run was given up.
            SinkCommitError: a sink could not commit.
        """
        while decided := self._report():
            for part in decided:
                self._commit(list(part.committables))
                self._drop_subsumed(part)
                # Only now: the next checkpoint leaves out what is reported as settled.
                self.protocol.committed()

    def _report(self) -> list[CommitPart]:
        directive = self._job.report(self._member, self.protocol.part, self.protocol.settled)
        return self.protocol.directed(directive, time.monotonic())

    def _drop_subsumed(self, part: CommitPart) -> None:
        # A part of a later batch may be prepared already, and is in no decided checkpoint yet.
        for batch_id in [kept for kept in self._kept if kept not in part.needed and kept <= part.batch_id]:
            self._files.drop(self._kept.pop(batch_id))
        if self._has_leftovers:
            self._has_leftovers = False
            self._files.sweep(self.run, self.batch_id)
        self._remove_garbage()
        if not self._is_alone:
            self._is_alone = self._files.remove_runs_before(self.run)

    def _remove_garbage(self) -> None:
        """Remove released files from the store in the background; a later run removes what remains."""
        if self._store is not None and (garbage := self._files.take_garbage()):
            self._janitor.submit(_remove, self._store, garbage)

    def end(self, has_failed: bool) -> None:
        """Leave the job's checkpoints; a run that ends before its first checkpoint removes its files."""
        self._job.leave(self._member, has_failed)
        # A store that does not answer must not delay a restart. Remaining files are removed by the next run, or at the
        # end.
        self._janitor.shutdown(wait=False)
        if self.run and not self._may_have_decided:
            self._files.abandon(self.run)


def _remove(store: RemotePath, paths: list[str]) -> None:
    try:
        store.remote.remove(paths)
    except OSError as error:
        logger.warning("%d state files in %s could not be removed: %s", len(paths), store, error)
