"""The time zone of this machine. Java: `ZoneId.systemDefault()`."""

from __future__ import annotations

import os
import time
from pathlib import Path
from zoneinfo import ZoneInfo

_LINK = Path("/etc/localtime")
_NAME = Path("/etc/timezone")


def system_time_zone() -> str:
    """Return the ID of the machine's time zone, such as `Europe/Berlin`; an offset if only that is known."""
    for name in (os.environ.get("TZ", "").removeprefix(":"), _linked(), _named()):
        if name and _exists(name):
            return name
    minutes = time.localtime().tm_gmtoff // 60
    return f"GMT{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02d}:{abs(minutes) % 60:02d}" if minutes else "UTC"


def _linked() -> str:
    return os.path.realpath(_LINK).partition("zoneinfo/")[2] if _LINK.is_symlink() else ""


def _named() -> str:
    try:
        return _NAME.read_text().strip()
    except OSError:
        return ""


def _exists(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError):
        return False
    return True
