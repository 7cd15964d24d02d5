"""Rules of the checkpoint protocol that are broken on purpose, see `core/mutations.py`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from firesteel.coordinator.checkpoint_coordinator import CheckpointCoordinator, Phase
from firesteel.coordinator.checkpoint_messages import Directive, Part, ReadCheckpoints, Request, RunId
from firesteel.coordinator.part_uploads import PartUploads
from firesteel.coordinator.region_checkpoints import RegionCheckpoints, Step
from tests.simulation.checkpoints.simulation import simulate
from tests.simulation.core.mutations import Mutations

MUTATIONS = Mutations(simulate, "## Checkpoints")


@MUTATIONS.breaks("a late report does not bring back an old part", CheckpointCoordinator, "reported")
def _takes_old_parts(original: Any, self: CheckpointCoordinator, run_id: RunId, part: Part | None, settled: int) -> Any:
    """A report that comes late or again counts as a new one."""
    run = self._run_of(run_id)
    if run is not None:
        run.number = 0
    return original(self, run_id, part, settled)


@MUTATIONS.breaks("a region has committed when it says so", CheckpointCoordinator, "reported")
def _takes_commits_for_granted(
    original: Any, self: CheckpointCoordinator, run_id: RunId, part: Part | None, settled: int
) -> Any:
    """A region that reports anything has committed."""
    return original(self, run_id, part, 10**9)


@MUTATIONS.breaks("a replaced run has no say", CheckpointCoordinator, "_run_of")
def _any_attempt(_: Any, self: CheckpointCoordinator, run_id: RunId) -> Any:
    """A run that was replaced speaks for its region."""
    return self._runs.get(run_id.region)


@MUTATIONS.breaks("a run resumes from the newest checkpoint", CheckpointCoordinator, "checkpoints_read")
def _reads_anytime(original: Any, self: CheckpointCoordinator, read: ReadCheckpoints, *rest: Any) -> Any:
    """What a run has read counts, although a checkpoint was written meanwhile."""
    return original(self, replace(read, decisions=self._decisions), *rest)


@MUTATIONS.breaks(
    "checkpoints keep output that a failed region has not committed", CheckpointCoordinator, "checkpoint_written"
)
def _forgets_what_is_uncommitted(original: Any, self: CheckpointCoordinator, metadata: Any) -> Any:
    """A region that fails before it commits is taken to have committed."""
    settled = set(self._settled)
    actions = original(self, metadata)
    self._settled |= settled
    return actions


@MUTATIONS.breaks("a savepoint needs all regions", CheckpointCoordinator, "_end")
def _takes_failures_for_ends(original: Any, self: CheckpointCoordinator, run_id: RunId, has_failed: bool) -> Any:
    """A savepoint is taken although a region has failed."""
    return original(self, run_id, has_failed=False)


@MUTATIONS.breaks("a request is answered once", CheckpointCoordinator, "requested")
def _asks_again(original: Any, self: CheckpointCoordinator, request: Request) -> Any:
    """A request that comes twice counts twice."""
    before, self._outcomes = self._outcomes, {}
    actions = original(self, request)
    self._outcomes = before | self._outcomes
    return actions


@MUTATIONS.breaks("nobody waits for a run that has ended", CheckpointCoordinator, "run_ended")
def _leaves_it_undone(_: Any, self: CheckpointCoordinator, run_id: RunId, has_failed: bool) -> Any:
    """What a run was to do when it ended is still waited for."""
    return self._end(run_id, has_failed)


@MUTATIONS.breaks("a savepoint may end the job", CheckpointCoordinator, "_is_prepared")
def _goes_on_after_the_end(original: Any, self: CheckpointCoordinator) -> bool:
    """Checkpoints are taken after a savepoint that ends the job."""
    outcomes, self._outcomes = self._outcomes, {}
    is_prepared: bool = original.fget(self)
    self._outcomes = outcomes
    return is_prepared


@MUTATIONS.breaks("files of retained checkpoints are kept", CheckpointCoordinator, "directive")
def _needs_the_last_only(original: Any, self: CheckpointCoordinator, run_id: RunId) -> Any:
    """Regions keep the files of the newest checkpoint only."""
    directive = original(self, run_id)
    return directive and replace(directive, needed=frozenset({max(directive.needed, default=-1)}))


@MUTATIONS.breaks("nothing is decided before it is written", CheckpointCoordinator, "directive")
def _decides_unwritten(original: Any, self: CheckpointCoordinator, run_id: RunId) -> Any:
    """A run learns that its part is decided while the checkpoint is being written."""
    run = self._run_of(run_id)
    if run is not None and run.prepared is not None and self._phase is Phase.WRITING:
        run.decided = run.prepared
    return original(self, run_id)


@MUTATIONS.breaks("a part is committed once", RegionCheckpoints, "directed")
def _commits_again(original: Any, self: RegionCheckpoints, directive: Directive, now_s: float) -> Any:
    """A directive that comes again is carried out again."""
    self._decided = 0
    return original(self, replace(directive, serial=10**9), now_s)


@MUTATIONS.breaks("a part commits nothing of later ones", RegionCheckpoints, "directed")
def _commits_later_parts(original: Any, self: RegionCheckpoints, directive: Directive, now_s: float) -> Any:
    """A decided part commits what belongs to later ones, too."""
    if directive.decided is not None and directive.decided.number > self._decided:
        everything = replace(directive.decided, committables=self._committed + len(self._pending))
        directive = replace(directive, decided=everything)
    return original(self, directive, now_s)


@MUTATIONS.breaks("a waiting region serves other requests", RegionCheckpoints, "next_step")
def _waits_for_one_savepoint(original: Any, self: RegionCheckpoints, has_ended: bool) -> Step:
    """A region that waits for a savepoint takes no part in anything else."""
    step = original(self, has_ended)
    return Step.WAIT if any(request not in self._directive.outcomes for request in self._savepoints) else step


@MUTATIONS.breaks("a last part covers later requests", Part, "covers_all")
def _covers_what_it_names(_: Any, self: Part, requests: Any) -> bool:
    """The last part of a region that has ended does not cover later requests."""
    return self.covers.issuperset(requests)


@MUTATIONS.breaks("no more checkpoints are pending than allowed", PartUploads, "may_begin")
def _begins_anytime(_: Any, self: PartUploads, now_s: float) -> bool:
    """Checkpoints begin without a pause."""
    return True


@MUTATIONS.breaks("there is a pause between checkpoints", PartUploads, "pause_left_s")
def _pauses_not(_: Any, self: PartUploads, now_s: float) -> float:
    """Checkpoints begin right after each other."""
    return -math.inf


if __name__ == "__main__":
    raise SystemExit(MUTATIONS.main())
