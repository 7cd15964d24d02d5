"""A cluster on which the program that is submitted replaces a running job."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from firesteel.cli.upgrade_errors import UpgradeError, left_stopped, reason_of, undecided
from firesteel.client.rest_client import ENDED, NO_LEADER, ClusterClientError, RestClusterClient
from firesteel.common.options.state_options import RECOVERY_CLAIM_MODE, RECOVERY_IGNORE_UNCLAIMED, RECOVERY_PATH
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.state_processor.program_fit import ProgramFit, program_fit

_POLL_S: Final = 0.2
_TOLD_AFTER_S: Final = 2.0
_TRIES: Final = 20
_CHECKPOINT_PATIENCE_S: Final = 60.0
_LEADER_PATIENCE_S: Final = 60.0


class DryRunEnd(BaseException):
    """The program has submitted its job, and need not go on; no `except Exception` of it stops this."""


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What is asked for.

    Attributes:
        former: Id of the job to replace.
        directory: Directory of the savepoint; None for the configured one.
        probation_s: Time that the successor has to run without a restart and without a failed checkpoint.
        leaves_state: Whether state that belongs to no operator of the successor is left behind.
        dry_run: Whether to stop after the comparison.
    """

    former: str
    directory: str | None
    probation_s: float
    leaves_state: bool
    dry_run: bool


class UpgradingCluster(RestClusterClient):
    """A client that stops a job with a savepoint, and submits its successor from there.

    Args:
        address: Address of the cluster.
        token: The bearer token.
        configuration: Options of the program: TLS, and those of the file systems with the state.
        upgrade: What is asked for.
        tell: Shows a line.

    Attributes:
        fit: What becomes of the state; None if it could not be read.
        successor: Id of the job that runs now; empty before.
        savepoint: Path of the savepoint; empty before.
        failure: Why a job could not be submitted, which the program may have caught; None if there was no reason.
    """

    def __init__(
        self,
        address: str,
        token: str | None,
        configuration: Mapping[str, str],
        upgrade: Upgrade,
        tell: Callable[[str], None],
    ) -> None:
        super().__init__(address, token, configuration)
        self._configuration = configuration
        self._upgrade = upgrade
        self._former = upgrade.former
        self._tell = tell
        self.fit: ProgramFit | None = None
        self.failure: Exception | None = None
        self.successor = self.savepoint = ""

    def submit(self, job_graph: JobGraph) -> None:
        """Replace the job by this one.

        Raises:
            UpgradeError: the program does not fit the state, or that can't be known, and the former job still runs; or
                the program failed on probation, and the former job runs again.
        """
        try:
            self._replace(job_graph)
        except Exception as error:
            self.failure = error
            raise

    def _replace(self, job_graph: JobGraph) -> None:
        if self.successor:
            raise UpgradeError(
                f"the program submits another job, {job_graph.name!r}, after job {self.successor}, which replaced job "
                f"{self._former} and runs on: an upgrade is for programs of one job"
            )
        try:
            self._compare(job_graph)
        except ClusterClientError as error:
            raise UpgradeError(f"job {self._former} is not replaced, as its state can't be compared: {error}") from None
        if self._upgrade.dry_run:
            raise DryRunEnd
        if self.fit is not None:
            self._tell(self.fit.text())
        former_graph = self.job_graph(self._former)
        self._tell(f"Stopping job {self._former} with a savepoint.")
        self._stop(former_graph)
        self._tell(f"Savepoint: {self.savepoint}")
        job_graph.configuration[RECOVERY_PATH.key] = self.savepoint
        job_graph.configuration[RECOVERY_CLAIM_MODE.key] = "NO_CLAIM"  # The former job may need the savepoint again.
        job_graph.configuration[RECOVERY_IGNORE_UNCLAIMED.key] = str(self._upgrade.leaves_state).lower()
        try:
            super().submit(job_graph)
            self._watch(job_graph.job_id)
        except (Exception, KeyboardInterrupt) as error:
            raise self._taken_back(error, job_graph.job_id, former_graph) from None
        self.successor = job_graph.job_id

    def _stop(self, former_graph: bytes) -> None:
        """Stop the former job with a savepoint; start it again if the user interrupts that.

        Raises:
            UpgradeError: the user interrupted it, or the savepoint failed; the text says what runs.
        """
        trigger_id = ""
        try:
            trigger_id = self.trigger_stop(self._former, self._upgrade.directory, drain=False)
            self._has_stopped(self.savepoint_location(self._former, trigger_id))
        except ClusterClientError as error:
            raise self._not_stopped(error) from None
        except KeyboardInterrupt as interrupt:
            if not trigger_id:
                raise undecided(self._former, interrupt) from None
            self._tell(f"Interrupted: job {self._former} starts again once its savepoint is complete.")
            raise self._stopped_in_vain(trigger_id, former_graph, interrupt) from None

    def _has_stopped(self, savepoint: str) -> None:
        """Note the savepoint; from now on the job depends on this client, which waits for a JobManager that is away."""
        self.savepoint, self.patience_s = savepoint, _LEADER_PATIENCE_S

    def _not_stopped(self, error: ClusterClientError) -> UpgradeError:
        try:
            status = self.job_status(self._former)
        except ClusterClientError:
            return undecided(self._former, error)
        if status in ENDED:
            return undecided(self._former, error)
        return UpgradeError(f"job {self._former} is not replaced, and is {status}, as it did not stop: {error}")

    def _stopped_in_vain(self, trigger_id: str, former_graph: bytes, interrupt: KeyboardInterrupt) -> UpgradeError:
        try:
            self._has_stopped(self.savepoint_location(self._former, trigger_id))
        except (Exception, KeyboardInterrupt) as error:
            return undecided(self._former, error)
        return self._taken_back(interrupt, None, former_graph)

    def _compare(self, job_graph: JobGraph) -> None:
        self._await_checkpoint()
        self.fit = self._fit(job_graph)
        if self.fit is None:
            return
        problems = self.fit.problems(self._upgrade.leaves_state)
        if problems:
            hint = "" if self._upgrade.leaves_state else "\nState may be left behind with --allowNonRestoredState (-n)."
            raise UpgradeError(
                f"the program does not fit the state of job {self._former}, which runs on:\n  "
                + "\n  ".join(problems)
                + (hint if any(one.fit == "dropped" for one in self.fit.operators) else "")
            )

    def _await_checkpoint(self) -> None:
        """Let the former job take a checkpoint once it can; it may be restarting, or getting another parallelism.

        Raises:
            UpgradeError: it has ended, or can't.
        """
        is_batch = self.get(f"/jobs/{self._former}")["job-type"] == "BATCH"
        begun_s, is_told = time.monotonic(), False
        while True:
            status = self.job_status(self._former)
            if status in ENDED:
                raise UpgradeError(f"job {self._former} is {status}, expected RUNNING")
            problem = self._checkpoint_problem(self._former) if status == "RUNNING" else f"it is {status}"
            if not problem:
                return
            waited_s = time.monotonic() - begun_s
            if waited_s > _CHECKPOINT_PATIENCE_S or is_batch:
                raise UpgradeError(f"job {self._former} is not replaced, as it can't take a checkpoint: {problem}")
            if not is_told and waited_s > _TOLD_AFTER_S:
                is_told = True
                self._tell(f"Job {self._former} takes no checkpoint yet: {problem}; waiting for it.")
            time.sleep(_POLL_S)

    def _fit(self, job_graph: JobGraph) -> ProgramFit | None:
        """Compare a program with the newest checkpoint; return None if it can't be read from here."""
        problem = "the cluster does not tell of a checkpoint"
        for _ in range(_TRIES):
            newest = self.get(f"/jobs/{self._former}/checkpoints")["latest"]["completed"]  # It may be seconds old.
            try:
                if newest is not None:
                    options = {**self._configuration, **job_graph.configuration}
                    return program_fit(newest["external_path"], job_graph, options)
            except (FiresteelError, OSError) as error:
                problem = str(error)
            time.sleep(_POLL_S)  # The job may have a newer one by now, and has removed this one.
        self._tell(f"The state can't be read from here, so the cluster compares it at the start: {problem}")
        return None

    def _watch(self, job_id: str) -> None:
        """Wait until a job has taken a checkpoint, and has run for the time of its probation.

        The checkpoint lets all functions open, also while there is nothing to read.

        Raises:
            UpgradeError: it restarted, ended, or could not take a checkpoint.
        """
        self._tell(f"Job {job_id} is submitted; it has to run for {self._upgrade.probation_s:g} s.")
        running_s, problem = None, "it did not run"
        while problem or running_s is None or time.monotonic() - running_s < self._upgrade.probation_s:
            status = self.job_status(job_id)
            if status == "FINISHED":
                return
            restarts, cause = self.restart(job_id)
            if status in ENDED or restarts:
                raise UpgradeError(cause or self._cause(job_id) or f"it is {status}")
            if int(self.get(f"/jobs/{job_id}/checkpoints")["counts"]["failed"]):
                raise UpgradeError("a checkpoint of it failed")
            if status == "RUNNING":
                running_s = running_s or time.monotonic()
                problem = problem and self._checkpoint_problem(job_id)
            if problem and running_s is not None and time.monotonic() - running_s > _CHECKPOINT_PATIENCE_S:
                raise UpgradeError(f"it has taken no checkpoint: {problem}")
            time.sleep(_POLL_S)

    def _checkpoint_problem(self, job_id: str) -> str:
        """Let a job take a checkpoint, and return why it can't, empty if it did."""
        try:
            self.checkpoint(job_id, "CONFIGURED")
        except ClusterClientError as error:  # Its tasks run before its query does.
            return str(error)
        return ""

    def _cause(self, job_id: str) -> str:
        result = self.execution_result(job_id) or {}
        return str(result.get("failure-cause", {}).get("stack-trace", "")).partition("\nTraceback")[0]

    def _taken_back(self, why: BaseException, job_id: str | None, former_graph: bytes) -> UpgradeError:
        """Cancel the successor, start the former job from its savepoint, and return the error that says so."""
        try:
            if job_id is not None:
                self._tell(f"Job {job_id} did not pass; cancelling it.")
                self._cancel(job_id)
            again = self.submit_again(former_graph, self.savepoint)
        except (Exception, KeyboardInterrupt) as error:
            return left_stopped(self._former, job_id, self.savepoint, why, error)
        failed = "the upgrade was interrupted" if isinstance(why, KeyboardInterrupt) else "the new program failed"
        return UpgradeError(
            f"{failed}, so the former one runs again as job {again}, from {self.savepoint}: {reason_of(why)}"
        )

    def _cancel(self, job_id: str) -> None:
        try:
            while self.job_status(job_id) not in ENDED:
                self._try_to_cancel(job_id)
                time.sleep(_POLL_S)
        except ClusterClientError as error:
            if error.status not in (404, 409):  # It was never there, or has just ended.
                raise

    def _try_to_cancel(self, job_id: str) -> None:
        try:
            self.cancel(job_id)
        except ClusterClientError as error:
            if error.status not in NO_LEADER:
                raise
