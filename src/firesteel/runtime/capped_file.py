"""Size limits for the files that receive standard output and standard error of processes.

They can't be rotated like log files, because the processes and their children keep writing to the open file.
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
    """A size limit on a file, enforced by a thread that moves its contents to `<name>.1` when it is large.

    The two files have about 200 MB at most. Lines written during the move may be lost.

    Args:
        path: The file. Its writers must have opened it for appending.
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
        """Move the contents if the file has more than 100 MB, replacing the contents moved before."""
        if self._path.stat().st_size <= _LARGEST_FILE:
            return
        try:
            shutil.copyfile(self._path, self._path.with_name(f"{self._path.name}.1"))
        except OSError as error:
            logger.warning("%s is truncated without a backup: %s", self._path, error)
        os.truncate(self._path, 0)

    def close(self) -> None:
        """Stop monitoring the file."""
        self._is_over.set()
