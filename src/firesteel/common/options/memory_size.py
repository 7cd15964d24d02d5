"""Memory sizes in the notation of Flink's configuration."""

from __future__ import annotations

import re

_UNITS = {
    **dict.fromkeys(("", "b", "bytes"), 1),
    **dict.fromkeys(("k", "kb", "kibibytes"), 1 << 10),
    **dict.fromkeys(("m", "mb", "mebibytes"), 1 << 20),
    **dict.fromkeys(("g", "gb", "gibibytes"), 1 << 30),
    **dict.fromkeys(("t", "tb", "tebibytes"), 1 << 40),
}


def parse_bytes(text: str) -> int:
    """Return a memory size in bytes: an integer with an optional unit (Flink: `configuration.MemorySize.parseBytes`).

    Raises:
        ValueError: the text is not a memory size.

    Example:
        >>> parse_bytes("128 mb")
        134217728
    """
    found = re.fullmatch(r"(\d+)\s*([a-z]*)", text.strip().lower())
    if found is None or found[2] not in _UNITS:
        units = ", ".join(unit for unit in _UNITS if unit)
        raise ValueError(f"a memory size must be an integer with one of the units {units}; found {text!r}")
    return int(found[1]) * _UNITS[found[2]]
