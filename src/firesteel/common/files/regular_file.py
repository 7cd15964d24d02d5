"""Opening of files that somebody else names or could have replaced: regular files only, without waiting."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

__all__ = ["NotRegularFileError", "open_regular"]


class NotRegularFileError(OSError):
    """A path names a link, a pipe, a device or a directory; the argument is the path."""

    def __str__(self) -> str:
        return f"{self.args[0]} is not a regular file"


def open_regular(path: Path) -> IO[bytes]:
    """Open a regular file for reading.

    Opening a pipe waits for its writer, and reading from some devices never ends. So nothing else is opened, and the
    check is made on the opened file, which nobody can exchange.

    Raises:
        NotRegularFileError: it is something else.
        FileNotFoundError: it does not exist.
        OSError: it cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        if path.is_symlink() or _is_special(path):
            raise NotRegularFileError(str(path)) from None
        raise
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegularFileError(str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _is_special(path: Path) -> bool:
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False
