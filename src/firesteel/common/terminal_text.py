"""Text for the terminal; untrusted one is escaped, as job names, messages and logs may contain control sequences."""

from __future__ import annotations

import re

__all__ = ["counted", "in_one_line", "printable"]

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""All control characters except tab and line feed, and those that change the text direction."""


def printable(text: str) -> str:
    r"""Return the text with control characters escaped.

    Example:
        >>> print(printable("\x1b[2J count\u202e"))
        \x1b[2J count\u202e
    """
    return _CONTROLS.sub(_escaped, text)


def in_one_line(name: str) -> str:
    r"""Return a name with control characters and line feeds escaped, so that it cannot imitate other output.

    Example:
        >>> print(in_one_line("count\nJob b is FINISHED"))
        count\nJob b is FINISHED
    """
    return printable(name).replace("\n", "\\n")


def _escaped(control: re.Match[str]) -> str:
    return control[0].encode("unicode_escape").decode()


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Example:
        >>> counted(1, "job"), counted(0, "job")
        ('1 job', '0 jobs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
