"""The removal of directories whose process is killed, by a shell that waits for its end."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

__all__ = ["remove_after_death"]

_SHELL = "/bin/sh"

# Standard input closes when the process has ended. Its children end a moment later, and may write until then.
_SCRIPT = """
trap '' HUP INT
while IFS= read -r directory; do set -- "$@" "$directory"; done
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    left=
    for directory; do
        [ -e "$directory" ] && left=yes && rm -rf -- "$directory"
    done
    [ "$left" ] || exit 0
    sleep 1
done
"""


class _Shell:
    """The shell of a process, which starts with the first directory.

    Attributes:
        pipe: To its standard input; -1 if there is no shell.
    """

    def __init__(self) -> None:
        self._process_id = 0
        self.pipe = -1
        self._lock = threading.Lock()

    def told(self, directory: Path) -> None:
        """Tell the shell of a directory; without a shell, the next process removes it."""
        with self._lock:
            if self._process_id != os.getpid():  # The shell of a forked process is that of its parent.
                self._process_id, self.pipe = os.getpid(), _started()
        line = os.fsencode(directory)
        if self.pipe >= 0 and b"\n" not in line:
            with contextlib.suppress(OSError):  # Somebody has killed the shell.
                os.write(self.pipe, line + b"\n")


_shell = _Shell()


def remove_after_death(directory: Path) -> None:
    """Let a directory be removed soon after the end of this process, even if it is killed.

    Args:
        directory: Its absolute path. A path with a line break is left alone.
    """
    _shell.told(directory)


def _started() -> int:
    """Start a shell, and return the pipe to it, -1 if there is none."""
    read, write = os.pipe()
    actions: list[tuple[object, ...]] = [(os.POSIX_SPAWN_DUP2, read, 0)]
    actions += [(os.POSIX_SPAWN_OPEN, output, os.devnull, os.O_WRONLY, 0) for output in (1, 2)]
    try:
        # Of a group of its own, as Ctrl-C ends all processes of the terminal's group.
        command = [_SHELL, "-c", _SCRIPT, _SHELL]
        os.posix_spawn(_SHELL, command, {"PATH": os.defpath}, file_actions=actions, setpgroup=0)
    except OSError:
        os.close(write)
        return -1
    finally:
        os.close(read)
    return write
