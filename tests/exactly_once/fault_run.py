"""One fault run: a job is started as a user would, hit at random moments, and started again until it is done.

Then what it committed is compared with the truth, and nothing of it may be left.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from firesteel.task.checkpoint_metadata import METADATA, checkpoints_in
from tests.exactly_once.job import PARALLELISM
from tests.exactly_once.outputs import Output
from tests.exactly_once.processes import KINDS, MARK, PAUSES, Process, left_after, processes_of
from tests.exactly_once.truth import truth, write_input

PROGRAM = Path(__file__).parent / "job.py"
FULL_DISK = "full disk"
FULL_LOCAL_DISK = "full local disk"
"""The disk with the state of slots has no free byte, and a slot process is killed, so that its next one finds that.

The job keeps its state there, with next to no memory for it, and starts from checkpoints with another parallelism and
backend.
"""
RESCALE = "rescale"
"""Not a fault: the job gets another parallelism while it runs. Together with faults it may be hit at any moment."""
OPTIONS = {
    "execution.checkpointing.interval": "200 ms",
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    "execution.buffer-timeout.interval": "100 ms",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10",
    "restart-strategy.fixed-delay.delay": "100 ms",
}
_RESCALING = {"jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0 ms"}
_STATE_ON_DISK = {"state.backend.rocksdb.memory.fixed-per-slot": "4kb", "taskmanager.numberOfTaskSlots": "4"}
_DISK, _LOCAL_DISK = "2m", "64m"
BACKENDS = ("hashmap", "rocksdb", "rocksdb")
_KILLED = {**KINDS, **PAUSES, FULL_LOCAL_DISK: KINDS["slot"]}
"""Whom a fault hits."""

_GIVE_UP_S = 180
_PAUSE_S = (5, 30)
_ORPHANS_GONE_S = 10.0
_POLL_S = 0.02
_HASTY = 0.3
"""How likely a fault hits before the job got over the one before."""


@dataclass(frozen=True)
class Case:
    """A fault run: the job, its records and how they are read, the faults, and the seed of their times."""

    job: str
    faults: tuple[str, ...]
    seed: int
    records: int = 60_000
    mode: str = "STREAMING"


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        starts: How often the job was started.
        hit: The faults that there were: a job may end before the last ones.
        errors: Why it ended when it failed.
        recoveries: Fault, seconds to the next committed output.
        hidden_files: Part files in progress that were left over.
        violations: Violations found; there should be none.
    """

    starts: int = 0
    hit: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    recoveries: list[tuple[str, float]] = field(default_factory=list)
    hidden_files: int = 0
    seconds: float = 0.0
    violations: list[str] = field(default_factory=list)


class FaultRun:
    """Runs a case in a directory; `output` is where its job writes."""

    def __init__(self, case: Case, directory: Path, output: Output) -> None:
        self._case = case
        self._directory = directory
        self._output = output
        self._random = random.Random(case.seed)
        self._mark = uuid.uuid4().hex
        # The paths of Unix sockets must be short.
        self._temporary = Path(tempfile.mkdtemp(prefix="fault-"))
        self._checkpoints = directory / "checkpoints"
        self._local = directory / "local"
        self._log = directory / "log"
        self._expected = truth(case.job, case.records)
        self._process: subprocess.Popen[bytes] | None = None
        self._had_checkpoint = False
        self.outcome = Outcome()

    def run(self) -> Outcome:
        """Run to the end and check."""
        begin_s = time.monotonic()
        self._checkpoints.mkdir(parents=True)
        if self._case.job == "windows":
            write_input(self._directory / "input", self._case.records)
        mounted: list[Path] = []
        for fault, path, size in ((FULL_DISK, self._checkpoints, _DISK), (FULL_LOCAL_DISK, self._local, _LOCAL_DISK)):
            if fault in self._case.faults:
                path.mkdir(exist_ok=True)
                mount(path, size)
                mounted.append(path)
        try:
            self._run_to_the_end(begin_s + _GIVE_UP_S)
            self._check()
        finally:
            for process in processes_of(self._mark):
                process.kill()
            if self._process is not None:
                self._process.wait()
            for path in mounted:
                subprocess.run(["umount", "--lazy", path], check=True)
            shutil.rmtree(self._temporary, ignore_errors=True)
        self.outcome.seconds = time.monotonic() - begin_s
        return self.outcome

    # --- start and end -----------------------------------------------------------------------------------------

    def _start(self) -> None:
        options = {**OPTIONS, "execution.checkpointing.dir": str(self._checkpoints)}
        newest = self._newest_checkpoint()
        rescales = RESCALE in self._case.faults
        if FULL_LOCAL_DISK in self._case.faults:
            options |= _STATE_ON_DISK | {"state.backend.rocksdb.localdir": str(self._local)}
            options["state.backend.type"] = "rocksdb" if newest is None else self._random.choice(BACKENDS)
        if rescales:
            options |= {"rest.port": "0", "taskmanager.numberOfTaskSlots": "4"} | _RESCALING
        command = [
            *(sys.executable, "-m", "firesteel", "run", *(("-t", "application") if rescales else ())),
            *(part for key, value in options.items() for part in ("-D", f"{key}={value}")),
            *(() if newest is None else ("-s", str(newest))),
            *("--runtime-mode", self._case.mode),
            *(str(PROGRAM), self._case.job, self._output.sink, str(self._directory), str(self._case.records)),
        ]
        environment = {**self._environment, MARK: self._mark}
        if FULL_LOCAL_DISK in self._case.faults and newest is not None:
            environment[PARALLELISM] = str(self._random.choice((1, 2, 3, 4)))
        with self._log.open("ab") as log:
            self._log_begin = log.tell()
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        self._had_checkpoint = False
        self.outcome.starts += 1

    @property
    def _environment(self) -> dict[str, str]:
        run_directory = str(self._directory / "run")
        return {**os.environ, "TMPDIR": str(self._temporary), "FIRESTEEL_RUN_DIR": run_directory}

    def _newest_checkpoint(self) -> Path | None:
        found = [chk for job in self._checkpoints.iterdir() for chk in checkpoints_in(job)[:1]]
        return max(found, key=lambda chk: (chk / METADATA).stat().st_mtime_ns, default=None)

    def _said(self) -> str:
        """Return the output of the job since its last start."""
        with self._log.open("rb") as log:
            log.seek(self._log_begin)
            return log.read().decode(errors="replace")

    def _is_finished(self) -> bool:
        """Whether the job came to its end before it was killed: it removes its checkpoints then."""
        job = re.search("JobID ([0-9a-f]+)", said := self._said())
        has_checkpoint = job is not None and bool(checkpoints_in(self._checkpoints / job[1]))
        self._had_checkpoint |= has_checkpoint
        return "is FINISHED" in said or (self._had_checkpoint and not has_checkpoint)

    def _run_to_the_end(self, deadline_s: float) -> None:
        faults = list(self._case.faults)
        total = self._expected.total()
        # A BATCH job shows no output before its end.
        is_batch = is_hasty = self._case.mode == "BATCH"
        moments = sorted(self._random.uniform(0, 0.7) * total for _ in faults)
        self._start()
        while time.monotonic() < deadline_s:
            assert self._process is not None
            code = self._process.poll()
            is_finished = self._is_finished()
            if code is not None:
                if code == 0 or (code == -9 and is_finished):
                    return
                self._begin_again(code)
            elif (
                (faults and not is_finished)
                and (is_hasty or self._output.count() >= moments[0])
                and self._hit(faults[0], is_hasty)
            ):
                del faults[0], moments[0]
                is_hasty = is_batch or (bool(faults) and self._random.random() < _HASTY)
                if not is_hasty:
                    self._await_output()
            time.sleep(_POLL_S)
        self.outcome.violations.append(f"the job did not end within {_GIVE_UP_S} s")

    def _begin_again(self, code: int) -> None:
        """Start the job again, from its newest checkpoint."""
        if code != -9:
            error = next(iter(re.findall("^Error: .*", self._said(), re.MULTILINE)), "no message")
            self.outcome.errors.append(error)
            is_full = not {FULL_DISK, FULL_LOCAL_DISK}.isdisjoint(self.outcome.hit)
            if not is_full or "No space left on device" not in error:
                self.outcome.violations.append(f"the job failed: {error}")
        self._start()

    # --- faults ------------------------------------------------------------------------------------------------

    def _hit(self, fault: str, is_hasty: bool) -> bool:
        """Let it happen at some moment; False if there is nothing to hit."""
        if fault == RESCALE:
            return self._rescale()
        found = [] if fault == FULL_DISK else _KILLED[fault](processes_of(self._mark))
        if not found and fault != FULL_DISK:
            return False
        self._wait_for_a_moment(is_hasty)
        if fault == FULL_DISK:
            self._fill_disk(self._checkpoints)
        elif fault == FULL_LOCAL_DISK:
            self._fill_disk(self._local, self._random.choice(found))
        elif fault in PAUSES:
            for number in (signal.SIGSTOP, signal.SIGCONT):
                for process in found:
                    process.send(number)
                time.sleep(self._random.uniform(*_PAUSE_S) if number is signal.SIGSTOP else 0)
        else:
            self._random.choice(found).kill()
        self.outcome.hit.append(fault)
        return True

    def _rescale(self) -> bool:
        """Ask for another parallelism, and do not wait; False before the first checkpoint.

        Without one the job begins anew, and another parallelism divides its numbers among other splits.
        """
        said = self._said()
        address, job = re.search(r"http://[0-9.]+:\d+", said), re.search("JobID ([0-9a-f]+)", said)
        if address is None or job is None or not self._had_checkpoint:
            return False
        parallelism = str(self._random.choice((1, 2, 3, 4)))
        command = [sys.executable, "-m", "firesteel", "rescale", "-d", "-m", address[0], job[1], parallelism]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        if done.returncode != 0:  # The job has just ended, or its JobManager is not there.
            return False
        self.outcome.hit.append(RESCALE)
        return True

    def _wait_for_a_moment(self, is_hasty: bool) -> None:
        """Wait a random time, also while the job starts or restarts, or until a checkpoint is to be committed."""
        if is_hasty:
            time.sleep(self._random.uniform(0, 4))
        elif self._random.random() < 0.5:
            time.sleep(self._random.uniform(0, 0.4))
        else:
            before, deadline_s = self._decided(), time.monotonic() + 2
            while not self._decided() - before and time.monotonic() < deadline_s:
                time.sleep(0.0005)
            time.sleep(self._random.uniform(0, 0.01))

    def _decided(self) -> set[Path]:
        return set(self._checkpoints.glob(f"*/chk-*/{METADATA}"))

    def _fill_disk(self, directory: Path, killed: Process | None = None) -> None:
        """Leave no room on a disk for a while, and kill a process meanwhile."""
        filler = directory / "filler"
        with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
            while file.write(bytes(1 << 12)):
                pass
        if killed is not None:
            killed.kill()
        ends_s = time.monotonic() + self._random.uniform(0.5, 3)
        while time.monotonic() < ends_s and self._process is not None and self._process.poll() is None:
            time.sleep(_POLL_S)
        filler.unlink()

    def _await_output(self) -> None:
        """Measure how long it takes from the last fault to the next committed output."""
        fault, begin_s, before = self.outcome.hit[-1], time.monotonic(), self._output.count()
        while time.monotonic() - begin_s < _GIVE_UP_S:
            if self._output.count() > before:
                self.outcome.recoveries.append((fault, time.monotonic() - begin_s))
                return
            assert self._process is not None
            code, is_finished = self._process.poll(), self._is_finished()
            if is_finished:
                return
            if code is not None:
                self._begin_again(code)
            time.sleep(_POLL_S)

    # --- checks ------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        violations = self.outcome.violations
        try:
            found = self._output.results()
        except ValueError as error:
            violations.append(f"half-written: {error}")
        else:
            if lost := self._expected - found:
                violations.append(f"{lost.total()} lost: {sorted(lost)[:3]}")
            if doubled := found - self._expected:
                violations.append(f"{doubled.total()} doubled or wrong: {sorted(doubled)[:3]}")
        if orphans := left_after(self._mark, _ORPHANS_GONE_S):
            violations.append(f"still alive: {[process.command[:120] for process in orphans]}")
        # Leftovers of a process that was killed after the end of its job are removed at the next start.
        was_killed = self._process is not None and self._process.returncode == -9
        if not was_killed and (left := sorted(os.listdir(self._temporary))):
            violations.append(f"left in the directory for temporary files: {left}")
        self.outcome.hidden_files = sum(1 for _ in (self._directory / "output").rglob(".*"))


def mount(directory: Path, size: str = _DISK) -> None:
    """A small file system of its own at a directory.

    Raises:
        CalledProcessError: this user may not, or the system can't.
    """
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", directory]
    subprocess.run(command, check=True, capture_output=True)
