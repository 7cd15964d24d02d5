"""The kind of high availability that a configuration selects."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.common.files.run_directory import UnsafeDirectoryError
from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.filesystem import FileSystemHaServices
from firesteel.runtime.highavailability.ha_services import ha_services
from firesteel.runtime.highavailability.trusted_storage import check_storage
from firesteel.runtime.highavailability.zookeeper_connection import ZooKeeperOptions
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.highavailability.kinds import SECRET

pytestmark = pytest.mark.slow


async def test_without_high_availability_no_job_is_kept() -> None:  # B08
    store = ha_services({}).stores(None).job_graphs
    store.start()
    await store.put(job_graph(("a", 1, [])))
    assert await store.job_ids() == ()
    assert await store.recover(an_id("job")) is None
    await store.remove(an_id("job"))
    await store.release(an_id("job"))
    await store.stop()


async def test_the_kind_is_chosen_by_its_name(tmp_path: Path) -> None:
    assert isinstance(ha_services({"high-availability.type": "embedded"}), EmbeddedHaServices)
    directory = {"high-availability.storageDir": f"file://{tmp_path}", "high-availability.cluster-id": "/mine"}
    services = ha_services({"high-availability.type": "FILESYSTEM", **directory}, SECRET)
    assert isinstance(services, FileSystemHaServices)
    assert (tmp_path / "mine").is_dir()


def _owned_by_another(path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can give a directory to another user")
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize("kind", ["filesystem", "zookeeper"])
@pytest.mark.parametrize(
    ("spoil", "of_cluster", "reason"),
    [
        (lambda path: path.chmod(0o777), True, "its mode is 777"),
        (lambda path: path.chmod(0o770), True, "its mode is 770"),
        (lambda path: path.chmod(0o777), False, "its mode is 777"),
        (_owned_by_another, True, "it belongs to user 65534"),
        (_owned_by_another, False, "it belongs to user 65534"),
    ],
)
async def test_storage_that_another_user_can_write_is_refused(
    tmp_path: Path, kind: str, spoil: Callable[[Path], None], of_cluster: bool, reason: str
) -> None:
    storage = tmp_path / "storage"
    (storage / "default").mkdir(parents=True, mode=0o700)
    spoil(storage / "default" if of_cluster else storage)
    options = {"high-availability.type": kind, "high-availability.storageDir": str(storage)}
    with pytest.raises(UnsafeDirectoryError, match=rf"{reason}.*high-availability\.storageDir"):
        ha_services({**options, "high-availability.zookeeper.quorum": "localhost:1"}, SECRET)


def test_storage_in_a_directory_of_temporary_files_is_accepted(tmp_path: Path) -> None:
    (tmp_path / "default").mkdir(mode=0o700)
    tmp_path.chmod(0o1777)
    check_storage(tmp_path / "default")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"type": "paxos"}, "'paxos' is unknown; allowed: NONE, embedded, filesystem, zookeeper"),
        ({"type": "filesystem"}, "option 'high-availability.storageDir' is not set"),
        (
            {"type": "filesystem", "storageDir": "memory://x"},
            "storageDir': cannot use .*: conditional writes are known of S3 and stores with its API only",
        ),
        ({"type": "zookeeper", "storageDir": "/x"}, "option 'high-availability.zookeeper.quorum' is not set"),
    ],
)
def test_missing_and_unknown_options_are_named(options: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidOptionError, match=text):
        ha_services({f"high-availability.{name}": value for name, value in options.items()})


def test_the_defaults_of_zookeeper_are_flinks() -> None:
    quorum = {"high-availability.zookeeper.quorum": "a:1,b:2"}
    assert ZooKeeperOptions.of(quorum, "/default", [SECRET]) == ZooKeeperOptions(
        "a:1,b:2", "/flink/default", 60, 15, 5, 3, False
    )
