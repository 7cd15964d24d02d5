"""Checks of directories that contain secrets and code for this user's processes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["reason_for_distrust", "reason_for_distrust_of_parent"]


def reason_for_distrust(path: Path, kind: int = stat.S_IFDIR) -> str | None:
    """Return why other users could have written to a path, or None if they could not.

    Args:
        path: A directory or file.
        kind: Expected kind: `stat.S_IFDIR` or `stat.S_IFREG`.

    Raises:
        OSError: the path cannot be inspected.
    """
    found = path.lstat()
    if stat.S_IFMT(found.st_mode) != kind:
        return "it is a link or a file" if kind == stat.S_IFDIR else "it is a link or a directory"
    if found.st_uid != os.getuid():
        return f"it belongs to user {found.st_uid}"
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"its mode is {stat.S_IMODE(found.st_mode):o}"
    return None


def reason_for_distrust_of_parent(path: Path) -> str | None:
    """Return why other users could exchange what is in a directory, or None if they could not.

    The directory may belong to root, and to a group: volumes of Kubernetes do. The sticky bit protects entries.

    Raises:
        OSError: the path cannot be inspected.
    """
    found = path.stat()
    if found.st_uid not in (0, os.getuid()):
        return f"it belongs to user {found.st_uid}"
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        return f"its mode is {stat.S_IMODE(found.st_mode):o}"
    return None
