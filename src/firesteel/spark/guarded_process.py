"""Processes that end when this one does, from their first instant, even if it is killed.

Java notices the end of its standard input only once Spark runs. A Java that started while its parent was killed stayed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO

__all__ = ["GuardedProcess"]

# The guard is of the process's group, whose number is thus not given to others as long as the guard waits. Shells know
# no descriptors of two digits, so it reads from standard error, which is then the log.
_SCRIPT = """
{ read -r line; kill -s KILL -- "-$$"; } <&2 >/dev/null 2>&1 &
exec "$@" 2>&1
"""
_SHELL = "/bin/sh"


class GuardedProcess(subprocess.Popen[bytes]):
    """A process in a group of its own, which is killed with this process; its standard input is a pipe.

    Args:
        command: The command, beginning with the path of a program.
        environment: The environment variables.
        log: The file for its standard output and standard error.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], log: IO[bytes]) -> None:
        guarded, self._guard = os.pipe()
        try:
            super().__init__(
                [_SHELL, "-c", _SCRIPT, _SHELL, *command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=guarded,
                env=environment,
                # A group of its own, which `end` and the guard kill as a whole, and which Ctrl-C in the terminal does
                # not reach.
                start_new_session=True,
            )
        except BaseException:
            os.close(self._guard)
            raise
        finally:
            os.close(guarded)

    def end(self) -> None:
        """Kill the process with its children, if it is alive, and wait for its end."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()
        assert self.stdin is not None
        self.stdin.close()
        if self._guard >= 0:
            os.close(self._guard)
            self._guard = -1
