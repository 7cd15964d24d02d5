"""Rules of the checkpoint protocol that are broken on purpose; each has a seed that detects it.

`PYTHONHASHSEED=0 python -m tests.simulation.checkpoints.mutations` looks for the first seed that finds each and writes
its part of docs/simulation.md anew; with `--check` it only holds the document against the code.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from firesteel.coordinator.checkpoint_coordinator import CheckpointCoordinator, Phase
from firesteel.coordinator.checkpoint_messages import Directive, Part, ReadCheckpoints, Request, RunId
from firesteel.coordinator.part_uploads import PartUploads
from firesteel.coordinator.region_checkpoints import RegionCheckpoints, Step
from tests.simulation.checkpoints.simulation import simulate
from tests.simulation.mutations import Mutation, run_mutations

_reported = CheckpointCoordinator.reported
_directive = CheckpointCoordinator.directive
_checkpoints_read = CheckpointCoordinator.checkpoints_read
_written = CheckpointCoordinator.checkpoint_written
_requested = CheckpointCoordinator.requested
_end = CheckpointCoordinator._end
_directed = RegionCheckpoints.directed
_next_step = RegionCheckpoints.next_step


def _takes_old_parts(self: CheckpointCoordinator, run_id: RunId, part: Part | None, settled: int) -> Any:
    """A report that comes late or again counts as a new one."""
    run = self._run_of(run_id)
    if run is not None:
        run.number = 0
    return _reported(self, run_id, part, settled)


def _takes_commits_for_granted(self: CheckpointCoordinator, run_id: RunId, part: Part | None, settled: int) -> Any:
    """A region that reports anything has committed."""
    return _reported(self, run_id, part, 10**9)


def _any_attempt(self: CheckpointCoordinator, run_id: RunId) -> Any:
    """A run that was replaced speaks for its region."""
    return self._runs.get(run_id.region)


def _reads_anytime(self: CheckpointCoordinator, read: ReadCheckpoints, *rest: Any) -> Any:
    """What a run has read counts, although a checkpoint was written meanwhile."""
    return _checkpoints_read(self, replace(read, decisions=self._decisions), *rest)


def _forgets_what_is_uncommitted(self: CheckpointCoordinator, metadata: Any) -> Any:
    """A region that fails before it commits is taken to have committed."""
    settled = set(self._settled)
    actions = _written(self, metadata)
    self._settled |= settled
    return actions


def _takes_failures_for_ends(self: CheckpointCoordinator, run_id: RunId, has_failed: bool) -> Any:
    """A savepoint is taken although a region has failed."""
    return _end(self, run_id, has_failed=False)


def _asks_again(self: CheckpointCoordinator, request: Request) -> Any:
    """A request that comes twice counts twice."""
    before, self._outcomes = self._outcomes, {}
    actions = _requested(self, request)
    self._outcomes = before | self._outcomes
    return actions


def _leaves_it_undone(self: CheckpointCoordinator, run_id: RunId, has_failed: bool) -> Any:
    """What a run was to do when it ended is still waited for."""
    return self._end(run_id, has_failed)


@property
def _goes_on_after_the_end(self: CheckpointCoordinator) -> bool:
    """Checkpoints are taken after a savepoint that ends the job."""
    outcomes, self._outcomes = self._outcomes, {}
    is_prepared: bool = _is_prepared(self)
    self._outcomes = outcomes
    return is_prepared


_is_prepared: Callable[[CheckpointCoordinator], bool] = CheckpointCoordinator._is_prepared.fget  # type: ignore[attr-defined]


def _needs_the_last_only(self: CheckpointCoordinator, run_id: RunId) -> Any:
    """Regions keep the files of the newest checkpoint only."""
    directive = _directive(self, run_id)
    return directive and replace(directive, needed=frozenset({max(directive.needed, default=-1)}))


def _decides_unwritten(self: CheckpointCoordinator, run_id: RunId) -> Any:
    """A run learns that its part is decided while the checkpoint is being written."""
    run = self._run_of(run_id)
    if run is not None and run.prepared is not None and self._phase is Phase.WRITING:
        run.decided = run.prepared
    return _directive(self, run_id)


def _commits_again(self: RegionCheckpoints, directive: Directive, now_s: float) -> Any:
    """A directive that comes again is carried out again."""
    self._decided = 0
    return _directed(self, replace(directive, serial=10**9), now_s)


def _commits_later_parts(self: RegionCheckpoints, directive: Directive, now_s: float) -> Any:
    """A decided part commits what belongs to later ones, too."""
    if directive.decided is not None and directive.decided.number > self._decided:
        everything = replace(directive.decided, committables=self._committed + len(self._pending))
        directive = replace(directive, decided=everything)
    return _directed(self, directive, now_s)


def _waits_for_one_savepoint(self: RegionCheckpoints, has_ended: bool) -> Step:
    """A region that waits for a savepoint takes no part in anything else."""
    step = _next_step(self, has_ended)
    return Step.WAIT if any(request not in self._directive.outcomes for request in self._savepoints) else step


def _covers_what_it_names(self: Part, requests: Any) -> bool:
    """The last part of a region that has ended does not cover later requests."""
    return self.covers.issuperset(requests)


def _begins_anytime(self: PartUploads, now_s: float) -> bool:
    """Checkpoints begin without a pause."""
    return True


def _pauses_not(self: PartUploads, now_s: float) -> float:
    """Checkpoints begin right after each other."""
    return -math.inf


MUTATIONS = (
    Mutation("a late report does not bring back an old part", CheckpointCoordinator, "reported", _takes_old_parts),
    Mutation("a region has committed when it says so", CheckpointCoordinator, "reported", _takes_commits_for_granted),
    Mutation("a replaced run has no say", CheckpointCoordinator, "_run_of", _any_attempt),
    Mutation("a run resumes from the newest checkpoint", CheckpointCoordinator, "checkpoints_read", _reads_anytime),
    Mutation(
        "checkpoints keep output that a failed region has not committed",
        CheckpointCoordinator,
        "checkpoint_written",
        _forgets_what_is_uncommitted,
    ),
    Mutation("a savepoint needs all regions", CheckpointCoordinator, "_end", _takes_failures_for_ends),
    Mutation("a request is answered once", CheckpointCoordinator, "requested", _asks_again),
    Mutation("nobody waits for a run that has ended", CheckpointCoordinator, "run_ended", _leaves_it_undone),
    Mutation("a savepoint may end the job", CheckpointCoordinator, "_is_prepared", _goes_on_after_the_end),
    Mutation("files of retained checkpoints are kept", CheckpointCoordinator, "directive", _needs_the_last_only),
    Mutation("nothing is decided before it is written", CheckpointCoordinator, "directive", _decides_unwritten),
    Mutation("a part is committed once", RegionCheckpoints, "directed", _commits_again),
    Mutation("a part commits nothing of later ones", RegionCheckpoints, "directed", _commits_later_parts),
    Mutation("a waiting region serves other requests", RegionCheckpoints, "next_step", _waits_for_one_savepoint),
    Mutation("a last part covers later requests", Part, "covers_all", _covers_what_it_names),
    Mutation("no more checkpoints are pending than allowed", PartUploads, "may_begin", _begins_anytime),
    Mutation("there is a pause between checkpoints", PartUploads, "pause_left_s", _pauses_not),
)


if __name__ == "__main__":
    raise SystemExit(run_mutations(MUTATIONS, lambda seed: simulate(seed).violations, "## Checkpoints"))
