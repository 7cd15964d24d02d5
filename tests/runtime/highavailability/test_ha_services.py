"""The kind of high availability that a configuration selects."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.filesystem import FileSystemHaServices
from firesteel.runtime.highavailability.ha_services import ha_services
from firesteel.runtime.highavailability.zookeeper_connection import ZooKeeperOptions
from firesteel.runtime.options import InvalidOptionError
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.highavailability.kinds import SECRET


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


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"type": "paxos"}, "unknown type 'paxos'; allowed: NONE, embedded, filesystem, zookeeper"),
        ({"type": "filesystem"}, "option 'high-availability.storageDir' is not set"),
        (
            {"type": "filesystem", "storageDir": "s3://x"},
            "s3://x/default is in an object store, where nothing can be renamed: set .* to zookeeper",
        ),
        ({"type": "zookeeper", "storageDir": "/x"}, "option 'high-availability.zookeeper.quorum' is not set"),
    ],
)
def test_missing_and_unknown_options_are_named(options: dict[str, str], text: str) -> None:
    with pytest.raises(InvalidOptionError, match=text):
        ha_services({f"high-availability.{name}": value for name, value in options.items()})


def test_the_defaults_of_zookeeper_are_flinks() -> None:
    quorum = {"high-availability.zookeeper.quorum": "a:1,b:2"}
    assert ZooKeeperOptions.of(quorum, "/default", SECRET) == ZooKeeperOptions(
        "a:1,b:2", "/flink/default", 60, 15, 5, 3, False
    )
