"""The factory of high-availability services for a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from firesteel.common.files.conditional_object import check_conditional_writes
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_files import RemoteFileError
from firesteel.common.files.remote_path import AnyPath, RemotePath
from firesteel.common.options.ha_options import (
    HA_CLUSTER_ID,
    HA_LEASE_DURATION,
    HA_RETRY_PERIOD,
    HA_STORAGE_DIR,
    HA_TYPE,
    JOB_RESULT_STORE_DELETE_ON_COMMIT,
    ZOOKEEPER_QUORUM,
)
from firesteel.common.options.option import InvalidOptionError
from firesteel.errors import InvalidProgramError
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices
from firesteel.runtime.rpc import ClusterSecret, Secret, cluster_secret

__all__ = ["ha_services", "has_high_availability", "storage_directory"]


_Factory = Callable[[Mapping[str, str], Secret | None], HighAvailabilityServices]


def ha_services(configuration: Mapping[str, str], secret: Secret | None = None) -> HighAvailabilityServices:
    """Create the services of `high-availability.type`: NONE (the default), embedded, filesystem or zookeeper.

    Call it on the loop that will use the services. Flink: `highavailability.HighAvailabilityServicesUtils`.

    Args:
        configuration: The cluster's options.
        secret: The cluster's secret, which signs data for other processes; None uses `cluster_secret`.

    Raises:
        InvalidOptionError: the type is unknown, or a required option or the secret is missing.

    Example:
        >>> ha_services({"high-availability.type": "embedded"})  # doctest: +ELLIPSIS
        <...EmbeddedHaServices object at ...>
    """
    return _KINDS[HA_TYPE.of(configuration)](configuration, secret)


def has_high_availability(configuration: Mapping[str, str]) -> bool:
    """Return whether other processes can take over."""
    return HA_TYPE.of(configuration) not in ("NONE", "embedded")


def _filesystem(configuration: Mapping[str, str], secret: Secret | None) -> HighAvailabilityServices:
    from firesteel.runtime.highavailability.filesystem import FileSystemHaServices  # late: few clusters have it

    directory = storage_directory(configuration)
    if not isinstance(directory, Path):
        return _object_store(directory, configuration, secret)
    codec = EntryCodec(secret or cluster_secret(configuration), _cluster_id(configuration))
    return FileSystemHaServices(directory, codec, JOB_RESULT_STORE_DELETE_ON_COMMIT.of(configuration))


def _object_store(
    directory: RemotePath, configuration: Mapping[str, str], secret: Secret | None
) -> HighAvailabilityServices:
    from firesteel.runtime.highavailability.object_store import ObjectStoreHaServices  # late, as above

    lease_s, retry_s = HA_LEASE_DURATION.of(configuration), HA_RETRY_PERIOD.of(configuration)
    if lease_s < 2 * retry_s:
        raise InvalidOptionError(
            f"{HA_LEASE_DURATION.key} is {lease_s:g} s, expected at least twice {HA_RETRY_PERIOD.key}, {retry_s:g} s"
        )
    try:
        check_conditional_writes(directory)
    except RemoteFileError as error:
        raise InvalidOptionError(f"option {HA_STORAGE_DIR.key!r}: {error}") from None
    codec = EntryCodec(secret or cluster_secret(configuration), _cluster_id(configuration))
    delete_on_commit = JOB_RESULT_STORE_DELETE_ON_COMMIT.of(configuration)
    return ObjectStoreHaServices(directory, codec, delete_on_commit, lease_s, retry_s)


def _zookeeper(configuration: Mapping[str, str], secret: Secret | None) -> HighAvailabilityServices:
    from firesteel.runtime.highavailability.zookeeper import ZooKeeperHaServices  # late: it needs kazoo
    from firesteel.runtime.highavailability.zookeeper_connection import ZooKeeperOptions

    directory, cluster_id = storage_directory(configuration), _cluster_id(configuration)
    ZOOKEEPER_QUORUM.required(configuration)
    secret = ClusterSecret.of(secret or cluster_secret(configuration))
    return ZooKeeperHaServices(
        ZooKeeperOptions.of(configuration, cluster_id, secret.accepted),
        directory,
        EntryCodec(secret, cluster_id),
        JOB_RESULT_STORE_DELETE_ON_COMMIT.of(configuration),
    )


def _embedded(keeps_jobs: bool) -> _Factory:
    return lambda configuration, _: EmbeddedHaServices(keeps_jobs, JOB_RESULT_STORE_DELETE_ON_COMMIT.of(configuration))


def _cluster_id(configuration: Mapping[str, str]) -> str:
    return HA_CLUSTER_ID.of(configuration).strip("/")


def storage_directory(configuration: Mapping[str, str]) -> AnyPath:
    """Return the cluster's storage directory, shared by all its JobManagers; the option is a path or a URI.

    Raises:
        InvalidOptionError: `high-availability.storageDir` is missing or no directory.
    """
    storage = HA_STORAGE_DIR.required(configuration)
    files = Files(configuration)
    try:
        path = files.path(files.resolve(storage))
    except (InvalidProgramError, ModuleNotFoundError) as error:
        raise InvalidOptionError(f"option {HA_STORAGE_DIR.key!r}: {error}") from None
    return path / _cluster_id(configuration)


_KINDS: dict[str, _Factory] = {
    "NONE": _embedded(keeps_jobs=False),
    "embedded": _embedded(keeps_jobs=True),
    "filesystem": _filesystem,
    "zookeeper": _zookeeper,
}
