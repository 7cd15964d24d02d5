"""A command in a pseudo terminal: what a user types and sees."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time

from tests.cli.session import WAIT_S


def plain(text: str) -> str:
    """Text without control sequences, and with single blanks."""
    return " ".join(re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>(]B?", "", text).split())


class Terminal:
    """A command in a terminal; `printed` is all that it has sent there.

    Args:
        command: The command.
        lines: Lines of the terminal.
        columns: Columns of the terminal.
        environment: More variables of its environment.
    """

    def __init__(self, command: list[str], lines: int = 40, columns: int = 120, **environment: str) -> None:
        self._process, self._file = pty.fork()
        if self._process == 0:
            # Neither pytest-xdist's idea of the size of a terminal, nor the one that readline keeps in C's environment.
            inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
            os.execvpe(command[0], command, {**inherited, **environment, "TERM": "xterm"})
        fcntl.ioctl(self._file, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self._seen = self.printed = ""

    def wait_for(self, expected: str) -> str:
        """Read until a text appears and return the output since the last call."""
        deadline = time.monotonic() + WAIT_S
        while expected not in plain(self._seen):
            assert time.monotonic() < deadline, f"no {expected!r} in {plain(self._seen)[-3000:]}"
            if select.select([self._file], [], [], 0.1)[0]:
                self._read()
        seen, self._seen = plain(self._seen), ""
        return seen

    def _read(self) -> bool:
        """Read what the command has sent, and return whether it goes on."""
        try:
            text = os.read(self._file, 1 << 16).decode(errors="replace")
        except OSError:  # the end of a command, on Linux
            text = ""
        self._seen += text
        self.printed += text
        return bool(text)

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def close(self) -> int:
        """Wait until the command has ended by itself and return its exit code."""
        while self._read():
            pass
        _, status = os.waitpid(self._process, 0)
        os.close(self._file)
        return os.waitstatus_to_exitcode(status)
