"""The factory of high-availability services for a configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath
from firesteel.errors import InvalidProgramError
from firesteel.runtime.cluster_settings import InvalidOptionError, boolean, required
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.filesystem import FileSystemHaServices
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices
from firesteel.runtime.highavailability.zookeeper import ZooKeeperHaServices
from firesteel.runtime.highavailability.zookeeper_connection import QUORUM, ZooKeeperOptions
from firesteel.runtime.rpc import rpc_secret

__all__ = ["ha_services", "has_high_availability", "storage_directory"]

TYPE = "high-availability.type"
STORAGE_DIR = "high-availability.storageDir"
CLUSTER_ID = "high-availability.cluster-id"
DELETE_ON_COMMIT = "job-result-store.delete-on-commit"

_Factory = Callable[[Mapping[str, str], bytes | None], HighAvailabilityServices]


def ha_services(configuration: Mapping[str, str], secret: bytes | None = None) -> HighAvailabilityServices:
    """Create the services of `high-availability.type`: NONE (the default), embedded, filesystem or zookeeper.

    Call it on the loop that will use the services. Flink: `highavailability.HighAvailabilityServicesUtils`.

    Args:
        configuration: The cluster's options.
        secret: The cluster's secret, which signs data for other processes; None uses `rpc_secret`.

    Raises:
        InvalidOptionError: the type is unknown, or a required option or the secret is missing.

    Example:
        >>> ha_services({"high-availability.type": "embedded"})  # doctest: +ELLIPSIS
        <...EmbeddedHaServices object at ...>
    """
    kind = configuration.get(TYPE, "NONE")
    make = _KINDS.get(kind.lower())
    if make is None:
        raise InvalidOptionError(
            f"option {TYPE!r}: unknown type {kind!r}; allowed: NONE, embedded, filesystem, zookeeper"
        )
    return make(configuration, secret)


def has_high_availability(configuration: Mapping[str, str]) -> bool:
    """Return whether other processes can take over."""
    return configuration.get(TYPE, "NONE").lower() not in ("none", "embedded")


def _filesystem(configuration: Mapping[str, str], secret: bytes | None) -> HighAvailabilityServices:
    directory = storage_directory(configuration)
    if not isinstance(directory, Path):
        raise InvalidOptionError(
            f"option {STORAGE_DIR!r}: {directory} is in an object store, where nothing can be renamed: "
            f"set {TYPE!r} to zookeeper, or name a directory that all JobManagers see"
        )
    codec = EntryCodec(secret or rpc_secret(configuration), _cluster_id(configuration))
    return FileSystemHaServices(directory, codec, boolean(configuration, DELETE_ON_COMMIT, True))


def _zookeeper(configuration: Mapping[str, str], secret: bytes | None) -> HighAvailabilityServices:
    directory, cluster_id = storage_directory(configuration), _cluster_id(configuration)
    required(configuration, QUORUM)
    secret = secret or rpc_secret(configuration)
    return ZooKeeperHaServices(
        ZooKeeperOptions.of(configuration, cluster_id, secret),
        directory,
        EntryCodec(secret, cluster_id),
        boolean(configuration, DELETE_ON_COMMIT, True),
    )


def _embedded(keeps_jobs: bool) -> _Factory:
    return lambda configuration, _: EmbeddedHaServices(keeps_jobs, boolean(configuration, DELETE_ON_COMMIT, True))


def _cluster_id(configuration: Mapping[str, str]) -> str:
    return configuration.get(CLUSTER_ID, "/default").strip("/")


def storage_directory(configuration: Mapping[str, str]) -> AnyPath:
    """Return the cluster's storage directory, shared by all its JobManagers; the option is a path or a URI.

    Raises:
        InvalidOptionError: `high-availability.storageDir` is missing or no directory.
    """
    storage = required(configuration, STORAGE_DIR)
    files = Files(configuration)
    try:
        path = files.path(files.resolve(storage))
    except (InvalidProgramError, ModuleNotFoundError) as error:
        raise InvalidOptionError(f"option {STORAGE_DIR!r}: {error}") from None
    return path / _cluster_id(configuration)


_KINDS: dict[str, _Factory] = {
    "none": _embedded(keeps_jobs=False),
    "embedded": _embedded(keeps_jobs=True),
    "filesystem": _filesystem,
    "zookeeper": _zookeeper,
}
