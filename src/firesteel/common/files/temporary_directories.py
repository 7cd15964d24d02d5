"""Directories for temporary data on the local disk (`io.tmp.dirs`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from firesteel.common.files.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.common.files.run_directory import UnsafeDirectoryError, run_directory
from firesteel.common.files.trusted_directory import reason_for_distrust

__all__ = ["private_directory", "temporary_directory"]

_DIRECTORIES = "io.tmp.dirs"


def temporary_directory(configuration: Mapping[str, str]) -> str | None:
    """Return the first of the configured directories, or None if none is configured.

    Example:
        >>> temporary_directory({"io.tmp.dirs": "/disk1,/disk2"})
        '/disk1'
    """
    return configuration.get(_DIRECTORIES, "").replace(os.pathsep, ",").split(",")[0] or None


def private_directory(kind: str, configuration: Mapping[str, str]) -> Path:
    """Return a directory that only this user can access, and create it if necessary.

    Args:
        kind: What the directory contains, such as `jobs`.
        configuration: Without `io.tmp.dirs`, the directory is in the run directory.

    Raises:
        UnsafeDirectoryError: it belongs to another user, is writable by others, or is a symbolic link.
    """
    configured = temporary_directory(configuration)
    if configured is None:
        directory = run_directory() / kind
    else:
        directory = Path(configured).absolute() / f"firesteel-{kind}-{os.getuid()}"
    make_directory(directory, mode=PRIVATE_DIRECTORY)
    reason = reason_for_distrust(directory)
    if reason is not None:
        raise UnsafeDirectoryError(directory, reason, f"the option {_DIRECTORIES}")
    return directory
