"""Files with arguments for Java, because all users of the machine can see its command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9._/,;*@+-]")
"""Characters that need no escape anywhere in a properties file."""


def java_properties(settings: Mapping[str, str]) -> str:
    r"""Return settings as the text of a Java properties file, in ASCII.

    Example:
        >>> print(java_properties({"spark.app.name": "words: é"}), end="")
        spark.app.name=words\u003a\u0020\u00e9
    """
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in settings.items())


def _escaped(text: str) -> str:
    return "".join(character if _PLAIN.match(character) else _code_units(character) for character in text)


def _code_units(character: str) -> str:
    """Return the UTF-16 code units of a character as Java's escapes."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


def java_arguments(arguments: Iterable[str]) -> str:
    r"""Return arguments as the text of an argument file of the command `java`.

    Example:
        >>> print(java_arguments(["-Da=b c", '-Dp="x\\y"']), end="")
        "-Da=b c"
        "-Dp=\"x\\y\""
    """
    escaped = (argument.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for argument in arguments)
    return "".join(f'"{argument}"\n' for argument in escaped)


def write_private_file(path: Path, text: str) -> str:
    """Write a file that only this user can read, replacing an existing one, and return its path."""
    path.unlink(missing_ok=True)
    with open(path, "x", encoding="utf-8", opener=_open_private) as file:
        file.write(text)
    return str(path)


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
