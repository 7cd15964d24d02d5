"""Hours of a session cluster, then fault tests until stopped: `PYTHONHASHSEED=0 python -m tests.soak [--hours 3]`.

The cluster has 20 jobs and must not grow (`tests/cli/cluster_soak.py`). Then in turn, until stopped or until something
is wrong: seeds of the simulation, each one new, requests to the REST API made of its own document, JobManager processes
that are killed while clients submit jobs, and running jobs and whole session clusters that are hit by all kinds of
faults, whose output must be what it would have been without. What failed is told with what repeats it.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

from tests.cli import cluster_soak
from tests.cli.change_faults import CHANGES, was_wrong
from tests.exactly_once.series import RUNS, Series, page
from tests.rest.fuzzing import api_failed
from tests.runtime.highavailability.zookeeper_server import JAR
from tests.runtime.recovery.killing import measure
from tests.simulation.control_plane.simulation import simulate

SEEDS = 1000
KILLS = 20
CLUSTER_HITS = 10


def failing_seed(first: int, seeds: int = SEEDS) -> int | None:
    """Return the first failing seed and print its violation; None if none fails."""
    for seed in range(first, first + seeds):
        violations = simulate(seed).violations
        if violations:
            again = f"PYTHONHASHSEED=0 python -m tests.simulation --first {seed} --story"
            print(f"seed {seed}: {violations[0]}\nto see it again: {again}", file=sys.stderr)
            return seed
    return None


def jobs_were_lost(kind: str, kills: int = KILLS) -> bool:
    """Return whether kills lost or repeated a job, and print the jobs."""
    seed = random.randrange(2**32)
    with tempfile.TemporaryDirectory() as directory:
        figures = measure(kind, kills, seed, Path(directory) / kind)
    if figures.lost or figures.run_again:
        wrong = f"lost {sorted(figures.lost)}, run again {sorted(figures.run_again)}"
        print(f"{kind}, {kills} kills with seed {seed}: {wrong}", file=sys.stderr)
        return True
    return False


def output_was_wrong() -> bool:
    """Return whether faults changed the committed output of a job, and print the job."""
    return Series(random.randrange(2**32), page()).run(RUNS)


def cluster_was_wrong() -> bool:
    """Return whether faults harmed a session cluster, or a job that was rescaled, upgraded or autoscaled there."""
    return any(was_wrong(change, CLUSTER_HITS, random.randrange(10**9), random.random() < 0.5) for change in CHANGES)


def main() -> int:
    """Go on until something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=random.randrange(10**9), help="the first seed [any]")
    parser.add_argument("--hours", type=float, default=3.0, help="of the cluster [3]")
    options = parser.parse_args()
    first = options.first
    os.environ.setdefault("FIRESTEEL_RPC_SECRET", os.urandom(16).hex())
    if wrong := cluster_soak.run(options.hours) if options.hours else []:
        print(f"the cluster: {'; '.join(wrong)}", file=sys.stderr)
        return 1
    kinds = ["filesystem", "zookeeper"] if JAR.exists() else ["filesystem"]
    turns = 0
    while (
        failing_seed(first) is None
        and not api_failed()
        and not any(map(jobs_were_lost, kinds))
        and not output_was_wrong()
        and not (JAR.exists() and cluster_was_wrong())
    ):
        first += SEEDS
        turns += 1
        kills = f"{turns * KILLS} kills with each of {kinds}, {turns * RUNS} fault runs"
        print(f"{turns * SEEDS:,} seeds, up to {first - 1}; {kills}", flush=True)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
