"""Deprecated keys of Flink's options.

Each line of `flink_deprecated_keys.txt` contains a deprecated key and the current one. The file was recorded from the
declarations in Flink 2.3 (those `ConfigOption.fallbackKeys()` that are marked as deprecated).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

__all__ = ["deprecated_keys", "deprecated_keys_of", "with_current_keys"]

Value = TypeVar("Value")


@cache
def deprecated_keys() -> dict[str, str]:
    """Return the current key of each deprecated key."""
    text = Path(__file__).with_name("flink_deprecated_keys.txt").read_text()
    return dict(line.split() for line in text.splitlines())


def deprecated_keys_of(key: str) -> tuple[str, ...]:
    """Return the deprecated keys of an option.

    Example:
        >>> deprecated_keys_of("state.backend.type")
        ('state.backend',)
    """
    return _by_current_key().get(key, ())


@cache
def _by_current_key() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for old, current in deprecated_keys().items():
        found[current] = (*found.get(current, ()), old)
    return found


def with_current_keys(options: Mapping[str, Value]) -> dict[str, Value]:
    """Return the options, with the values of deprecated keys under the current keys, too.

    As in Flink, the value of a current key takes precedence over those of its deprecated keys.

    Example:
        >>> with_current_keys({"execution.buffer-timeout": "5 ms"})
        {'execution.buffer-timeout.interval': '5 ms', 'execution.buffer-timeout': '5 ms'}
    """
    current = deprecated_keys()
    return {current[key]: value for key, value in options.items() if key in current} | dict(options)
