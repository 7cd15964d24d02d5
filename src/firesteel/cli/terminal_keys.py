"""Keys of a terminal as they are pressed."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

_TOKEN = re.compile(r"\x1b(?:\[[0-9;]*[A-Za-z~]|O[A-Z])|.", re.DOTALL)
_NAMES = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
_NUMBERED = {"1": "home", "4": "end", "5": "page up", "6": "page down", "7": "home", "8": "end", "15": "f5"}
_CONTROLS = {
    "\r": "enter",
    "\n": "enter",
    "\x1b": "escape",
    "\x03": "interrupt",
    "\x7f": "backspace",
    "\b": "backspace",
}
_READ_BYTES = 1024


def keys_of(text: str) -> list[str]:
    r"""Return the names of the keys that a terminal sends as this text; letters are lower case.

    Example:
        >>> keys_of("Q\x1b[A\x1b[6~\r")
        ['q', 'up', 'page down', 'enter']
    """
    return [_name(token) for token in _TOKEN.findall(text)]


def _name(token: str) -> str:
    if len(token) == 1:
        return _CONTROLS.get(token, token.lower())
    return _NUMBERED.get(token[2:-1], "") if token.endswith("~") else _NAMES.get(token[-1], "")


@contextmanager
def single_keys() -> Iterator[None]:
    """Let standard input deliver each key at once and show none; Ctrl-C is a key, too."""
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    try:
        tty.setcbreak(file)
        mode = termios.tcgetattr(file)
        mode[3] &= ~termios.ISIG
        termios.tcsetattr(file, termios.TCSADRAIN, mode)
        yield
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


def pressed(within_s: float) -> list[str]:
    """Return the keys that are pressed, after this time at the latest; a closed terminal sends `interrupt`."""
    file = sys.stdin.fileno()
    if not select.select([file], [], [], within_s)[0]:
        return []
    data = os.read(file, _READ_BYTES)
    return keys_of(data.decode(errors="ignore")) if data else ["interrupt"]
