"""The kind of high availability that a configuration asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from firesteel.common.local_path import local_path
from firesteel.errors import InvalidProgramError
from firesteel.runtime.highavailability.embedded import EmbeddedHaServices
from firesteel.runtime.highavailability.filesystem import FileSystemHaServices
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices
from firesteel.runtime.highavailability.zookeeper import ZooKeeperHaServices
from firesteel.runtime.highavailability.zookeeper_connection import ZooKeeperOptions
from firesteel.runtime.options import InvalidOptionError, boolean, required

__all__ = ["ha_services", "has_high_availability", "storage_directory"]

TYPE = "high-availability.type"
STORAGE_DIR = "high-availability.storageDir"
CLUSTER_ID = "high-availability.cluster-id"
DELETE_ON_COMMIT = "job-result-store.delete-on-commit"


def ha_services(configuration: Mapping[str, str]) -> HighAvailabilityServices:
    """What `high-availability.type` says: NONE (the default), embedded, filesystem or zookeeper.

    Call it on the loop that will use the services. Flink: `highavailability.HighAvailabilityServicesUtils`.

    Raises:
        InvalidOptionError: there is no such kind, or an option that it needs is missing.

    Example:
        >>> ha_services({"high-availability.type": "embedded"})  # doctest: +ELLIPSIS
        <...EmbeddedHaServices object at ...>
    """
    kind = configuration.get(TYPE, "NONE")
    make = _KINDS.get(kind.lower())
    if make is None:
        raise InvalidOptionError(
            f"option {TYPE!r}: there is no kind {kind!r}; allowed: NONE, embedded, filesystem, zookeeper"
        )
    return make(configuration)


def has_high_availability(configuration: Mapping[str, str]) -> bool:
    """Whether other processes may take over."""
    return configuration.get(TYPE, "NONE").lower() not in ("none", "embedded")


def _filesystem(configuration: Mapping[str, str]) -> HighAvailabilityServices:
    return FileSystemHaServices(storage_directory(configuration), boolean(configuration, DELETE_ON_COMMIT, True))


def _zookeeper(configuration: Mapping[str, str]) -> HighAvailabilityServices:
    options = ZooKeeperOptions.of(configuration, configuration.get(CLUSTER_ID, "/default"))
    return ZooKeeperHaServices(
        options, storage_directory(configuration), boolean(configuration, DELETE_ON_COMMIT, True)
    )


def storage_directory(configuration: Mapping[str, str]) -> Path:
    """The cluster's own directory, which all its JobManagers see; the option is a path or a URI `file:///...`.

    Raises:
        InvalidOptionError: `high-availability.storageDir` is missing or no directory.
    """
    storage = required(configuration, STORAGE_DIR)
    try:
        path = local_path(storage)
    except InvalidProgramError as error:
        raise InvalidOptionError(f"option {STORAGE_DIR!r}: {error}") from None
    return path / configuration.get(CLUSTER_ID, "/default").strip("/")


_KINDS: dict[str, Callable[[Mapping[str, str]], HighAvailabilityServices]] = {
    "none": lambda options: EmbeddedHaServices(False, boolean(options, DELETE_ON_COMMIT, True)),
    "embedded": lambda options: EmbeddedHaServices(True, boolean(options, DELETE_ON_COMMIT, True)),
    "filesystem": _filesystem,
    "zookeeper": _zookeeper,
}
