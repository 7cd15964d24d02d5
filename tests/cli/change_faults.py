"""Rescales, upgrades and an autoscaler under faults, or faults alone.

    python -m tests.cli.change_faults rescale|upgrade|autoscaler|none 20 [seed [executors]]

The session cluster of `cluster_faults`; its TaskManagers are in the JobManagers, or with `executors` in Spark's. The
job gets another parallelism or another program, or the autoscaler is at work, and a fault hits meanwhile. What is
committed must be what it would have been without, and one job must run, with its slots and no more.
"""

from __future__ import annotations

import random
import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.cli.cluster_faults import FULL_DISK, OF_ALL, OF_EXECUTORS, OF_SLOTS, FaultyCluster
from tests.cli.session import firesteel, firesteel_in_background

RESCALE, UPGRADE, AUTOSCALER, NONE = CHANGES = "rescale", "upgrade", "autoscaler", "none"
_MOST_SLOTS = 4
_OPTIONS = {
    "slot.idle.timeout": "1 s",
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0 s",
}
_AUTOSCALER = {
    "job.autoscaler.enabled": "true",
    "job.autoscaler.metrics.window": "2 s",
    "job.autoscaler.stabilization.interval": "1 s",
    "job.autoscaler.scale-down.interval": "2 s",
    "job.autoscaler.catch-up.duration": "5 s",
    "job.autoscaler.restart.time": "1 s",
    "job.autoscaler.vertex.max-parallelism": str(_MOST_SLOTS),
    "autoscaler.standalone.control-loop.interval": "500 ms",
}
_BURST = 60
"""How often 20 words are written for the autoscaler, a few seconds of work for one subtask."""


class ChangingCluster(FaultyCluster):
    """A session cluster whose job changes while faults hit it."""

    def __init__(self, directory: Path, has_executors: bool, has_autoscaler: bool = False) -> None:
        options = _OPTIONS | (_AUTOSCALER if has_autoscaler else {})
        options |= {"execution.checkpointing.savepoint-dir": str(directory / "savepoints")}
        options |= {"taskmanager.numberOfTaskSlots": str(_MOST_SLOTS // 2 if has_executors else _MOST_SLOTS)}
        super().__init__(directory, has_executors, **options)

    def change(self, change: str, fault: str) -> float:
        """Begin a change, inject a fault at some moment, and return the seconds until all is committed again."""
        return {RESCALE: self._rescale, UPGRADE: self._upgrade, AUTOSCALER: self._load, NONE: self.hit}[change](fault)

    def _rescale(self, fault: str) -> float:
        self.slots = random.choice([n for n in range(1, _MOST_SLOTS + 1) if n != self.slots])
        firesteel("rescale", "-d", "-m", self.address, self.job_id(), str(self.slots))
        time.sleep(random.choice([0, random.uniform(0, 3)]))
        return self.hit(fault)

    def _load(self, fault: str) -> float:
        for _ in range(random.choice([0, _BURST])):
            self.write()
        time.sleep(random.uniform(0, 8))
        self.slots = None
        return self.hit(fault)

    def _upgrade(self, fault: str) -> float:
        former = self.job_id()
        upgrade = firesteel_in_background(
            *("upgrade", "--probation", "1s", "-m", self.address, former, *self.tail.arguments)
        )
        time.sleep(random.uniform(0, 8))
        self.inject(fault)
        _, said = upgrade.communicate(timeout=200)
        if not self.running():
            # The command says from where the job goes on, and with what.
            print(f"no job runs after exit code {upgrade.returncode}: {said}", file=sys.stderr)
            (savepoint,) = set(re.findall(r"(?:file:)?(/\S*savepoint-\S*[0-9a-f])", said))
            firesteel("run", "-d", "-s", savepoint, "-m", self.address, *self.tail.arguments)
        elif upgrade.returncode:
            print(f"exit code {upgrade.returncode}: {said.splitlines()[-3:]}", file=sys.stderr)
        if self.running() != [former]:
            self.slots = 2  # as the program says
        return self.recover()


def was_wrong(change: str, hits: int, seed: int, has_executors: bool) -> bool:
    """Change a job under faults, print each, and return whether a check failed; then the logs are kept."""
    random.seed(seed)
    directory = tempfile.mkdtemp(prefix="change-faults-")
    cluster = ChangingCluster(Path(directory), has_executors, change == AUTOSCALER)
    faults = [
        one for one in (*OF_ALL, *(OF_EXECUTORS if has_executors else OF_SLOTS)) if one != FULL_DISK or cluster.has_disk
    ]
    try:
        for _ in range(hits):
            fault = random.choice(faults)
            print(f"| {change} | {fault} | ", end="", flush=True)
            print(f"{cluster.change(change, fault):.1f} | {cluster.slots_taken()} |", flush=True)
        cluster.end()
    except AssertionError as error:
        print(f"{error}; seed {seed}, logs are in {directory}", file=sys.stderr)
        return True
    finally:
        cluster.close()
    shutil.rmtree(directory)
    return False


if __name__ == "__main__":
    asked, times, *further = sys.argv[1:]
    seed = int(further[0]) if further else random.randrange(10**9)
    sys.exit(was_wrong(asked, int(times), seed, further[1:] == ["executors"]))
