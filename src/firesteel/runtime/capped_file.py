"""Files that standard output and standard error of processes go to, kept from growing without bound.

They can't be rotated as log files are: the processes, and those that these have started, go on writing to the file that
they have open.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
from pathlib import Path

__all__ = ["CappedFile"]

logger = logging.getLogger(__name__)

_LARGEST_FILE = 100 * 1024 * 1024
_LOOK_S = 10.0


class CappedFile:
    """Looks after a file in a thread of its own: what a large file holds is put aside, in `<name>.1`.

    So there are about 200 MB at most. Lines that are written while the file is put aside may be lost.

    Args:
        path: The file. Who writes to it must have opened it for appending.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._is_over = threading.Event()
        threading.Thread(target=self._look_after, name=f"cap of {path.name}", daemon=True).start()

    def _look_after(self) -> None:
        while not self._is_over.wait(_LOOK_S):
            with contextlib.suppress(FileNotFoundError):
                self.put_aside_if_large()

    def put_aside_if_large(self) -> None:
        """Empty the file if it has more than 100 MB; the place of what it held is taken by the next time."""
        if self._path.stat().st_size <= _LARGEST_FILE:
            return
        try:
            shutil.copyfile(self._path, self._path.with_name(f"{self._path.name}.1"))
        except OSError as error:
            logger.warning("%s is emptied and not kept: %s", self._path, error)
        os.truncate(self._path, 0)

    def close(self) -> None:
        """Look after it no longer."""
        self._is_over.set()
