"""Where firesteel's own code is, which tells the user's frames of a stack from ours."""

from __future__ import annotations

from pathlib import Path

import firesteel

__all__ = ["OUR_CODE"]

OUR_CODE = str(Path(firesteel.__file__).resolve().parent)
"""The directory of the package; the file names of our frames begin with it."""
