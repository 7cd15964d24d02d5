"""Where firesteel's own code is, which tells the user's frames of a stack from ours."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import firesteel

__all__ = ["LIBRARIES", "OUR_CODE"]

OUR_CODE = str(Path(firesteel.__file__).resolve().parent)
"""The directory of the package; the file names of our frames begin with it."""

LIBRARIES = tuple(sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib"))
"""The directories of libraries, Python's own among them."""
