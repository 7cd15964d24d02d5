"""Entries not signed with the cluster's secret are rejected before they are unpickled."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
from kazoo.exceptions import NoAuthError

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.clock import SystemClock
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.fenced_directory import FencedDirectory
from firesteel.runtime.highavailability.filesystem import FileSystemHaServices
from firesteel.runtime.highavailability.high_availability_errors import UntrustedEntryError
from firesteel.runtime.highavailability.storage import CLEAN_RESULTS, DIRTY_RESULTS, JOBS
from firesteel.runtime.highavailability.zookeeper import ZooKeeperHaServices
from firesteel.runtime.highavailability.zookeeper_connection import ZooKeeperOptions
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.highavailability.foreign_client import foreign_client
from tests.runtime.highavailability.kinds import CODEC, SECRET, FileSystem, Kind, ZooKeeper, eventually
from tests.runtime.highavailability.test_contract import leading, retrieving
from tests.runtime.highavailability.zookeeper_server import ZooKeeperServer
from tests.runtime.simulated import Cluster

pytestmark = pytest.mark.slow


class Malicious:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return Path.touch, (self._path,)


def forged(path: Path) -> list[bytes]:
    """Entries of an attacker who knows the formats, but not the secret."""
    pickled = cloudpickle.dumps(Malicious(path))
    digest = hashlib.sha256(pickled).digest()
    guessed = EntryCodec(b"another secret, as long", "cluster")
    signed = [guessed.sign(JOBS, an_id("bad"), payload) for payload in (pickled, b"=" + pickled)]
    return [*signed, pickled, b"=" + pickled, digest + pickled, b"=" + digest + pickled, b"@" + str(path).encode()]


@pytest.fixture(params=["filesystem", "zookeeper"])
async def kind(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[FileSystem | ZooKeeper]:
    if request.param == "filesystem":
        kind: FileSystem | ZooKeeper = FileSystem(tmp_path / "ha" / "cluster")
    else:
        kind = ZooKeeper(request.getfixturevalue("zookeeper_server").address, tmp_path / "files")
    yield kind
    for process in kind.processes:
        await process.close()


async def overwrite(kind: FileSystem | ZooKeeper, folder: str, name: str, data: bytes) -> None:
    """Write past the services."""
    if isinstance(kind, FileSystem):
        state = kind.root / f"state-{FencedDirectory(kind.root, CODEC).session_id()}"
        (state / folder / name).write_bytes(data)
        return
    with foreign_client(kind.options.quorum) as client:
        path = f"{kind.options.path}/{folder}/{name}"
        client.ensure_path(path)
        client.set(path, data)


async def read_raw(kind: FileSystem | ZooKeeper, folder: str, name: str) -> bytes:
    if isinstance(kind, FileSystem):
        state = kind.root / f"state-{FencedDirectory(kind.root, CODEC).session_id()}"
        return (state / folder / name).read_bytes()
    with foreign_client(kind.options.quorum) as client:
        data: bytes = client.get(f"{kind.options.path}/{folder}/{name}")[0]
        return data


async def test_a_forged_job_is_rejected_without_unpickling_and_others_are_recovered(
    kind: FileSystem | ZooKeeper, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stores, trap = kind.process().stores(None), tmp_path / "executed"
    stores.job_graphs.start()
    await stores.job_graphs.put(job_graph(("a", 1, []), name="good"))
    names = []
    for number, entry in enumerate(forged(trap)):
        names.append(f"{number:032x}")
        await overwrite(kind, JOBS, names[-1], entry)
    cluster = Cluster(SystemClock(), ha=kind.process())  # type: ignore[arg-type]
    await cluster.dispatcher.start()
    gateway = await cluster.dispatcher_gateway()
    assert await gateway.list_jobs() == (an_id("good"),)
    assert not trap.exists()
    assert cluster.fatal_errors == []
    errors = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    for name in names:
        (text,) = [error for error in errors if f"job {name} " in error]
        assert "is not signed with this cluster's secret" in text
        assert "remove it or restore it from a copy, or start the JobManager with the former secret" in text
    await cluster.dispatcher.close()


async def test_a_forged_result_is_rejected_without_unpickling(kind: FileSystem | ZooKeeper, tmp_path: Path) -> None:
    results, trap = kind.process().stores(None).job_results, tmp_path / "executed"
    for entry in forged(trap):
        await overwrite(kind, DIRTY_RESULTS, "bad", entry)
        assert await results.dirty_results() == ()
        with pytest.raises(UntrustedEntryError):
            await results.has_job_result("bad")
    assert not trap.exists()


async def test_an_entry_cannot_be_exchanged_for_another(kind: FileSystem | ZooKeeper) -> None:
    stores = kind.process().stores(None)
    stores.job_graphs.start()
    await stores.job_graphs.put(job_graph(("a", 1, []), name="one"))
    entry = await read_raw(kind, JOBS, an_id("one"))
    await overwrite(kind, JOBS, an_id("two"), entry)
    await overwrite(kind, CLEAN_RESULTS, an_id("one"), entry)
    with pytest.raises(UntrustedEntryError):
        await stores.job_graphs.recover(an_id("two"))
    with pytest.raises(UntrustedEntryError):
        await stores.job_results.has_job_result(an_id("one"))
    other_cluster = EntryCodec(SECRET, "other")
    with pytest.raises(UntrustedEntryError):
        other_cluster.verify(JOBS, an_id("one"), entry)
    assert await stores.job_graphs.recover(an_id("one")) is not None


async def test_the_address_of_a_forged_leader_is_ignored(kind: FileSystem | ZooKeeper) -> None:
    process = kind.process()
    election, _, session_id = await leading(process)
    listener = retrieving(kind.process())
    election.confirm_leadership(session_id, "here")
    await eventually(lambda: listener.leaders == [("here", session_id)])
    leader = {"address": "elsewhere", "session": session_id}
    pickled = cloudpickle.dumps(("elsewhere", session_id))
    data = pickled if isinstance(kind, FileSystem) else json.dumps(leader).encode()
    for payload in (data, hashlib.sha256(data).digest() + data):
        await overwrite(kind, "leaders", "x", payload)
        await eventually(lambda: listener.leaders[-1] == ("here", session_id))
    assert ("elsewhere", session_id) not in listener.leaders


async def test_a_changed_secret_is_reported_and_the_former_one_still_works(tmp_path: Path) -> None:
    codecs = CODEC, EntryCodec(b"a new and different secret", "cluster")
    former, new = (FileSystemHaServices(tmp_path / "cluster", codec, interval_s=0.01) for codec in codecs)
    stores = former.stores(None), new.stores(None)
    for store in stores:
        store.job_graphs.start()
    await stores[0].job_graphs.put(job_graph(("a", 1, []), name="one"))
    with pytest.raises(UntrustedEntryError, match="written by somebody else or under a former secret"):
        await stores[1].job_graphs.recover(an_id("one"))
    assert await stores[0].job_graphs.recover(an_id("one")) is not None
    for process in (former, new):
        await process.close()


async def test_a_forged_node_of_a_large_job_removes_no_file(zookeeper_server: ZooKeeperServer, tmp_path: Path) -> None:
    kind = ZooKeeper(zookeeper_server.address, tmp_path / "files")
    store, victim = kind.process().stores(None).job_graphs, tmp_path / "victim"
    victim.touch()
    store.start()
    await overwrite(kind, JOBS, "bad", b"@../victim")
    await store.remove("bad")
    assert await store.job_ids() == ()
    assert victim.exists()
    await kind.processes[0].close()


# Access to ZooKeeper's nodes


def creator(kind: Kind, secret: bytes = SECRET, **options: str) -> ZooKeeperOptions:
    """Return the options of a process that restricts access to its nodes."""
    assert isinstance(kind, ZooKeeper)
    prefix = "high-availability.zookeeper"
    root, _, cluster_id = kind.options.path.rpartition("/")
    client = {f"{prefix}.client.{name.replace('_', '-')}": value for name, value in options.items()}
    return ZooKeeperOptions.of(
        {
            f"{prefix}.quorum": kind.options.quorum,
            f"{prefix}.path.root": root or "/",
            f"{prefix}.client.acl": "creator",
            f"{prefix}.client.retry-wait": "20 ms",
            **client,
        },
        cluster_id,
        [secret],
    )


@pytest.fixture
async def zookeeper(zookeeper_server: ZooKeeperServer, tmp_path: Path) -> AsyncIterator[ZooKeeper]:
    kind = ZooKeeper(zookeeper_server.address, tmp_path / "files")
    kind.options = ZooKeeperOptions(kind.options.quorum, f"{kind.options.path}/cluster")
    yield kind
    for process in kind.processes:
        await process.close()


async def in_use(process: ZooKeeperHaServices) -> None:
    """Let a process lead, publish its address and store jobs."""
    election, _, session_id = await leading(process)
    election.confirm_leadership(session_id, "here")
    store = process.stores(session_id).job_graphs
    store.start()
    await store.put(job_graph(("a", 1, []), name="one"))
    listener = retrieving(process)
    await eventually(lambda: listener.leaders == [("here", session_id)])


def assert_is_shut(kind: ZooKeeper) -> None:
    """A client without credentials reads, changes, adds and removes nothing."""
    root = kind.options.path
    with foreign_client(kind.options.quorum) as client:
        for node in ("", "/jobs", f"/jobs/{an_id('one')}", "/leaders", "/leaders/x", "/election"):
            calls: list[Callable[[str], object]] = [
                client.get,
                client.get_children,
                lambda path: client.set(path, b""),
                lambda path: client.create(f"{path}/new", ephemeral=False),
            ]
            for call in calls:
                with pytest.raises(NoAuthError):
                    call(root + node)
        for node in (f"/jobs/{an_id('one')}", "/leaders/x", "/jobs"):
            with pytest.raises(NoAuthError):
                client.delete(root + node)


@pytest.mark.parametrize("own", [{}, {"authorization": "digest:'flink:hush'"}, {"authorization.digest": "flink:hush"}])
async def test_only_the_creator_can_access_its_nodes(zookeeper: ZooKeeper, own: dict[str, str]) -> None:
    zookeeper.options = creator(zookeeper, **own)
    await in_use(zookeeper.process())
    assert_is_shut(zookeeper)
    second = zookeeper.process().stores(None).job_graphs
    second.start()
    assert await second.recover(an_id("one")) is not None


async def test_nodes_become_private_when_the_option_is_set(zookeeper: ZooKeeper) -> None:
    await in_use(zookeeper.process())
    await zookeeper.processes.pop().close()
    zookeeper.options = creator(zookeeper)
    await in_use(zookeeper.process())
    assert_is_shut(zookeeper)


async def test_clusters_with_different_secrets_may_share_a_root(
    zookeeper: ZooKeeper, caplog: pytest.LogCaptureFixture
) -> None:
    zookeeper.options = creator(zookeeper)
    await in_use(zookeeper.process())
    path = zookeeper.options.path
    zookeeper.options = creator(zookeeper, b"a new and different secret")
    store = zookeeper.process().stores(None).job_graphs
    store.start()
    with pytest.raises(Exception, match=r"denies access to .*client.acl and .*authorization"):
        await store.job_ids()
    zookeeper.options = ZooKeeperOptions(
        zookeeper.options.quorum, f"{path}-2", acl="creator", authorization=zookeeper.options.authorization
    )
    await in_use(zookeeper.process())
    assert_is_shut(zookeeper)


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("acl", "all", r"client.acl': 'all' is unknown; allowed: open, creator"),
        (
            "authorization",
            "hush",
            r"client.authorization': its value is invalid; an example is digest:'user:pas",
        ),
    ],
)
def test_a_value_that_can_not_be_read_is_refused(option: str, value: str, text: str) -> None:
    options = {"high-availability.zookeeper.quorum": "a:1", f"high-availability.zookeeper.client.{option}": value}
    with pytest.raises(InvalidOptionError, match=text) as refused:
        ZooKeeperOptions.of(options, "cluster", [SECRET])
    assert "hush" not in str(refused.value)


def test_credentials_are_not_shown() -> None:
    options = {"high-availability.zookeeper.quorum": "a:1", "high-availability.zookeeper.client.acl": "creator"}
    made = ZooKeeperOptions.of(options, "cluster", [SECRET])
    ((scheme, credentials),) = made.authorization
    assert scheme == "digest"
    assert credentials.startswith("firesteel:")
    assert SECRET.decode() not in credentials
    assert credentials not in repr(made)
