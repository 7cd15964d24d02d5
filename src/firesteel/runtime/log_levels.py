"""Levels of loggers, by configuration and while a process runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping

__all__ = ["LEVELS", "ROOT", "levels_now", "parse_levels", "set_levels"]

ROOT = "root"
LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "OFF")
_OFF = logging.CRITICAL + 10
_OTHERWISE = {"TRACE": logging.DEBUG, "WARN": logging.WARNING, "FATAL": logging.CRITICAL, "OFF": _OFF}
"""Names of Log4j's levels that Python does not have."""


def parse_levels(text: str) -> dict[str, int]:
    """Return the level of each logger in a text; the one without a name is that of the root.

    Raises:
        ValueError: a level does not exist.

    >>> parse_levels("INFO, firesteel.rest=DEBUG")
    {'root': 20, 'firesteel.rest': 10}
    """
    levels = {}
    for part in text.split(","):
        name, _, level = part.strip().rpartition("=")
        levels[name.strip() or ROOT] = _level(level)
    return levels


def _level(text: str) -> int:
    name = text.strip().upper()
    if name not in LEVELS:
        raise ValueError(f"{text.strip()!r} is no level; allowed: {', '.join(LEVELS)}, or LOGGER=LEVEL, with commas")
    return _OTHERWISE[name] if name in _OTHERWISE else logging.getLevelNamesMapping()[name]


def set_levels(levels: Mapping[str, int]) -> None:
    """Set the levels of loggers in this process."""
    for name, level in levels.items():
        logging.getLogger("" if name == ROOT else name).setLevel(level)


def levels_now() -> dict[str, str]:
    """Return the levels that are set in this process, by logger; others have that of the logger above."""
    found = {ROOT: _name(logging.getLogger().level)}
    for name, logger in sorted(logging.root.manager.loggerDict.items()):
        if isinstance(logger, logging.Logger) and logger.level:
            found[name] = _name(logger.level)
    return found


def _name(level: int) -> str:
    return "OFF" if level == _OFF else logging.getLevelName(level)
