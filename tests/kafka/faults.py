"""Fault runs from Kafka through keyed state to Kafka: `python -m tests.kafka.faults 60 [seed]`.

Processes of the job are killed, also while a checkpoint is committed, or stand still for 5 to 30 s, and so does the
broker for a while. Sources have idleness and watermark alignment, and windows show whether a record was late. Meanwhile
the offsets of the group are compared with the newest checkpoint.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firesteel.common.encoding.program_values import program_value
from firesteel.task.checkpoint_metadata import checkpoints_in, read_metadata
from tests.exactly_once.fault_run import Case, FaultRun, Outcome
from tests.exactly_once.job import KAFKA_JOBS
from tests.exactly_once.outputs import Kafka
from tests.exactly_once.processes import KINDS, PAUSES
from tests.kafka.broker import Broker, running
from tests.waiting import repeating

PARTITIONS = 2


def run(broker: Broker, case: Case, directory: Path, pauses: bool) -> Outcome:
    """Run a case; `pauses`: the broker stands still at random moments."""
    before, after = broker.topic(2), broker.topic(PARTITIONS)
    half = case.records // 2
    for number in range(2):
        values = [str(value) for value in range(number * half, (number + 1) * half)]
        broker.write(before, values[:-1], number, **{"batch.num.messages": 10_000})
        broker.write(before, values[-1:], number)
    (directory / "input").write_text(f"{broker.servers} {before}")
    fault_run = FaultRun(case, directory, Kafka(broker.servers, after, PARTITIONS))
    with _watching(broker, before, directory / "checkpoints") as ahead, _pausing(broker, case.seed if pauses else None):
        outcome = fault_run.run()
    outcome.violations += ahead
    return outcome


@contextlib.contextmanager
def _watching(broker: Broker, topic: str, checkpoints: Path) -> Iterator[list[str]]:
    """Gather where the offsets of the group are ahead of the newest checkpoint."""
    ahead: list[str] = []
    latest = 0.0

    def compare() -> None:
        nonlocal latest
        offsets = broker.committed(f"of-{topic}", topic, 2)
        with contextlib.suppress(OSError, EOFError):  # A checkpoint may be removed meanwhile.
            newest_job = max(checkpoints.iterdir(), key=_changed, default=checkpoints)
            before, latest = latest, max(latest, _changed(newest_job))
            # The directory of a job that has ended is gone, and those of jobs that were killed before are older.
            for newest in checkpoints_in(newest_job)[:1] if before <= latest == _changed(newest_job) else ():
                for state in _source_states(newest):
                    positions = [state.positions.get(f"{topic}-{number}", 1 << 60) for number in range(2)]
                    if any(offset > position for offset, position in zip(offsets, positions, strict=True)):
                        ahead.append(f"the group is at {offsets}, the checkpoint at {positions}")

    with repeating(compare, 0.2):
        yield ahead


def _source_states(checkpoint: Path) -> list[Any]:
    regions = read_metadata(checkpoint).states
    return [state for region in regions for state in program_value(region.sources).values()]


def _changed(directory: Path) -> float:
    return directory.stat().st_ctime


@contextlib.contextmanager
def _pausing(broker: Broker, seed: int | None) -> Iterator[None]:
    rng = random.Random(seed)

    def pause() -> None:
        if seed is not None and rng.random() < 0.2:
            broker.process.send_signal(signal.SIGSTOP)
            threading.Event().wait(rng.uniform(0.2, 2))
            broker.process.send_signal(signal.SIGCONT)

    with repeating(pause, 0.7):
        yield


def main(runs: int, seed: int) -> int:
    """Run random cases, and return how many were wrong."""
    rng = random.Random(seed)
    kinds, wrong = [*KINDS, *PAUSES], 0
    for number in range(runs):
        faults = [kinds[number % len(kinds)], *rng.choices(kinds, k=rng.randrange(3))]
        rng.shuffle(faults)
        job = rng.choice(list(KAFKA_JOBS))
        case, pauses = Case(job, tuple(faults), rng.randrange(2**32), 30_000), rng.random() < 0.5
        directory = Path(tempfile.mkdtemp(prefix="kafka-faults-"))
        with running() as broker:
            outcome = run(broker, case, directory, pauses)
        print(f"{number}: {job}, {faults}, pauses {pauses}: hit {outcome.hit}, {outcome.starts} starts, ", end="")
        print(f"{outcome.seconds:.0f} s, {outcome.violations or 'right'}", flush=True)
        wrong += bool(outcome.violations)
        if not outcome.violations:
            shutil.rmtree(directory)
    print(f"{runs} runs, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(min(1, main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(2**32))))
