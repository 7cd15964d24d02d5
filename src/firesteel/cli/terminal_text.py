"""Text of others for the terminal: names of jobs, messages and logs may hold sequences that a terminal obeys."""

from __future__ import annotations

import re

__all__ = ["in_one_line", "printable"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All control characters but tab and line feed, and those that change the direction of what follows."""


def printable(text: str) -> str:
    r"""Return the text with escapes in place of control characters, so that it is shown as it is.

    Example:
        >>> print(printable("\x1b[2J count\u202e"))
        \x1b[2J count\u202e
    """
    return _CONTROLS.sub(_escaped, text)


def in_one_line(name: str) -> str:
    r"""Return a name that looks like no other line of what is printed.

    Example:
        >>> print(in_one_line("count\nJob b is FINISHED"))
        count\nJob b is FINISHED
    """
    return printable(name).replace("\n", "\\n")


def _escaped(control: re.Match[str]) -> str:
    return control[0].encode("unicode_escape").decode()
