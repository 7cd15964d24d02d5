"""Directories for temporary data on the local disk (`io.tmp.dirs`)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from firesteel.common.files.durability import PRIVATE_DIRECTORY, make_directory
from firesteel.common.files.run_directory import UnsafeDirectoryError, run_directory
from firesteel.common.files.trusted_directory import reason_for_distrust
from firesteel.common.options.execution_options import TMP_DIRS

__all__ = ["made_directory", "private_directory", "temporary_directory"]


def temporary_directory(configuration: Mapping[str, str]) -> str | None:
    """Return the first of the configured directories, or None if none is configured.

    Example:
        >>> temporary_directory({"io.tmp.dirs": "/disk1,/disk2"})
        '/disk1'
    """
    return (TMP_DIRS.of(configuration) or "").replace(os.pathsep, ",").split(",")[0] or None


def made_directory(configured: str | None) -> str:
    """Return a directory for temporary files: the configured one, made if necessary, or that of the system.

    Args:
        configured: A result of `temporary_directory`.
    """
    if configured is None:
        return tempfile.gettempdir()
    os.makedirs(configured, exist_ok=True)
    return configured


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
        raise UnsafeDirectoryError(directory, reason, f"the option {TMP_DIRS}")
    return directory
