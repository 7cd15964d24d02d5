"""Where firesteel's own code is, which tells the user's frames of a stack from ours."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import firesteel

__all__ = ["LIBRARIES", "OUR_CODE", "is_of_python"]

OUR_CODE = str(Path(firesteel.__file__).resolve().parent)
"""The directory of the package; the file names of our frames begin with it."""

LIBRARIES = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib"))
"""The directories of libraries, Python's own among them."""

_PACKAGES = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib"))


def is_of_python(file: str) -> bool:
    """Return whether a file belongs to Python itself rather than to a program, a package or firesteel."""
    return file.startswith("<frozen") or (
        file.startswith(sysconfig.get_path("stdlib")) and not file.startswith(_PACKAGES)
    )
