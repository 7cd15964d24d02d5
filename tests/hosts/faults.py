"""Faults that hit a cluster on hosts of its own while a job counts words: `python -m tests.hosts.faults 40 [seed]`.

After each fault words are written, and what is committed must be each count once, as without faults.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.hosts.cluster import JOB_MANAGERS, MASTER, STORE, WORKERS, ZOOKEEPER, HostCluster
from tests.hosts.network import network, why_not
from tests.waiting import wait_for

Chance = random.Random


def kill_slots(cluster: HostCluster, chance: Chance) -> None:
    """All slots of a host."""
    cluster.hosts[chance.choice(WORKERS)].kill("firesteel.task.slot_server")


def kill_executor(cluster: HostCluster, chance: Chance) -> None:
    """The JVMs of a host's executors."""
    cluster.hosts[chance.choice(WORKERS)].kill("--executor-id")


def kill_task_executor(cluster: HostCluster, chance: Chance) -> None:
    """The TaskExecutors of a host."""
    cluster.hosts[chance.choice(WORKERS)].kill("task_manager_process")


def kill_jvm(cluster: HostCluster, chance: Chance) -> None:
    """Spark's JVM of the leading JobManager."""
    cluster.leader().kill("SparkSubmit")


def kill_leader(cluster: HostCluster, chance: Chance) -> None:
    """The leading JobManager, and started again."""
    leader = cluster.leader()
    (standby,) = (cluster.hosts[name] for name in JOB_MANAGERS if name != leader.name)
    logged = (standby.files / "log").stat().st_size
    leader.kill("jobmanager", "start")
    begun = time.monotonic()
    wait_for(lambda: b"switched to RUNNING" in (standby.files / "log").read_bytes()[logged:])
    print(f"    {standby.name} leads and has recovered the job after {time.monotonic() - begun:.1f} s")
    time.sleep(chance.uniform(0, 5))
    cluster.start_job_manager(leader.name)


def lose_worker(cluster: HostCluster, chance: Chance) -> None:
    """A Worker's host with its disk, and back after a while."""
    host = cluster.hosts[chance.choice(WORKERS)]
    host.crash()
    time.sleep(chance.uniform(0, 8))
    host.come_back()
    cluster.start_worker(host.name)


def kill_zookeeper(cluster: HostCluster, chance: Chance) -> None:
    """ZooKeeper, and started again."""
    cluster.hosts[ZOOKEEPER].kill()
    time.sleep(chance.uniform(0, 6))
    cluster.start_zookeeper()


def part(cluster: HostCluster, chance: Chance) -> None:
    """Two hosts lose each other for a while."""
    one, two = (cluster.hosts[name] for name in chance.sample([*WORKERS, *JOB_MANAGERS, STORE, ZOOKEEPER, MASTER], 2))
    print(f"    {one.name} and {two.name}")
    one.cut_from(two)
    time.sleep(chance.uniform(1, 8))
    one.join(two)


def refuse(cluster: HostCluster, chance: Chance) -> None:
    """S3 refuses half of all requests for a while."""
    cluster.disturb_store(refused=0.5)
    time.sleep(chance.uniform(2, 8))
    cluster.disturb_store()


def delay(cluster: HostCluster, chance: Chance) -> None:
    """S3 takes 300 ms for each request for a while."""
    cluster.disturb_store(delay_s=0.3)
    time.sleep(chance.uniform(2, 8))
    cluster.disturb_store()


def fill_disk(cluster: HostCluster, chance: Chance) -> None:
    """The disk of a host is full for a while."""
    host = cluster.hosts[chance.choice([*WORKERS, *JOB_MANAGERS])]
    print(f"    {host.name}")
    host.fill_disk()
    time.sleep(chance.uniform(2, 8))
    host.empty_disk()


def pause(cluster: HostCluster, chance: Chance) -> None:
    """All processes of a host stand still for a while."""
    host = cluster.hosts[chance.choice([*WORKERS, *JOB_MANAGERS, STORE, ZOOKEEPER, MASTER])]
    print(f"    {host.name}")
    host.pause(chance.uniform(5, 30))


FAULTS: tuple[Callable[[HostCluster, Chance], None], ...] = (
    kill_slots,
    kill_executor,
    kill_task_executor,
    kill_jvm,
    kill_leader,
    lose_worker,
    kill_zookeeper,
    part,
    refuse,
    delay,
    fill_disk,
    pause,
)


def main(runs: int, seed: int, elects_in_store: bool) -> None:
    """Let faults hit one cluster, one after the other."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="hosts-") as directory, network(Path(directory)) as made:
        cluster = HostCluster(made, elects_in_store)
        cluster.write("0", "a", "b")
        cluster.submit()
        wait_for(cluster.is_exact)
        for number in range(1, runs + 1):
            fault = FAULTS[number % len(FAULTS)] if number <= len(FAULTS) else chance.choice(FAULTS)
            words = [f"w{chance.randrange(30)}" for _ in range(200)]
            cluster.write(f"{number}-before", *words[:100])
            time.sleep(chance.uniform(0, 1.5))
            fault(cluster, chance)
            begun = time.monotonic()
            cluster.write(f"{number}-after", *words[100:])
            wait_for(cluster.is_exact)
            print(f"{number}: {fault.__doc__} {time.monotonic() - begun:.1f} s until all was committed", flush=True)
    print(f"{runs} faults, seed {seed}: each count was committed once")


if __name__ == "__main__":
    if reason := why_not():
        raise SystemExit(f"no hosts here: {reason}")
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    main(int(sys.argv[1]), seed, elects_in_store="store" in sys.argv[3:])
