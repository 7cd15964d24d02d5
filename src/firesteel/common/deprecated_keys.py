"""Keys that Flink's options had in older versions.

`flink_deprecated_keys.txt` holds one pair per line, the deprecated key and the current one. It was recorded from the
declarations in Flink 2.3 (`ConfigOption.fallbackKeys()`, those that are marked as deprecated).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

__all__ = ["deprecated_keys", "with_current_keys"]

Value = TypeVar("Value")


@cache
def deprecated_keys() -> dict[str, str]:
    """Return the current key of each deprecated one."""
    text = Path(__file__).with_name("flink_deprecated_keys.txt").read_text()
    return dict(line.split() for line in text.splitlines())


def with_current_keys(options: Mapping[str, Value]) -> dict[str, Value]:
    """Return the options, with the values of deprecated keys also under the current keys.

    A current key that is set wins over its deprecated ones, as in Flink.

    Example:
        >>> with_current_keys({"execution.buffer-timeout": "5 ms"})
        {'execution.buffer-timeout.interval': '5 ms', 'execution.buffer-timeout': '5 ms'}
    """
    current = deprecated_keys()
    return {current[key]: value for key, value in options.items() if key in current} | dict(options)
