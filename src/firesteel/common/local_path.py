"""Paths as users name them: plain, or as a URI of this machine's file system."""

from __future__ import annotations

from pathlib import Path


def local_path(text: str) -> Path:
    """The path in a text that may be a `file:` URI.

    >>> local_path("file:/checkpoints/chk-7"), local_path("file:///out"), local_path("out")
    (PosixPath('/checkpoints/chk-7'), PosixPath('/out'), PosixPath('out'))
    """
    return Path(text.removeprefix("file://").removeprefix("file:"))
