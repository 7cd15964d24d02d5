"""Limits of this process that the operating system enforces, and what errors have to do with them."""

from __future__ import annotations

import errno
import resource
from pathlib import Path
from typing import Final

__all__ = ["free_reserve", "limit_descriptors", "limit_memory", "reason_of"]

_RESERVE_BYTES: Final = 64 << 20
"""Memory beyond the limit, to report that it was reached."""

_STATUS: Final = Path("/proc/self/status")
_texts: dict[str, str] = {}


def limit_memory(size: int, text: str) -> None:
    """Let this process allocate no more than `size` bytes from now on; then allocations raise `MemoryError`.

    What counts is `RLIMIT_DATA`: memory of this process alone, not that of files which it maps, so LMDB may map more.

    Args:
        size: Bytes beyond those that the process has now.
        text: Names the limit in errors.
    """
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft, reserve = _data_bytes() + size, _data_bytes() + size + _RESERVE_BYTES
    if hard != resource.RLIM_INFINITY:
        soft, reserve = min(soft, hard), min(reserve, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, reserve))
    _texts["memory"] = text


def _data_bytes() -> int:
    """Return what counts to `RLIMIT_DATA` now; 0 where it is not known."""
    if not _STATUS.exists():
        return 0
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmData:"))
    return int(line.split()[1]) * 1024


def limit_descriptors(count: int, text: str) -> None:
    """Let this process open no more than `count` files and sockets beyond those that it has now."""
    # One is that of the directory itself.
    opened = sum(1 for _ in Path("/dev/fd").iterdir()) - 1
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = opened + count
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    _texts["descriptors"] = text


def free_reserve() -> None:
    """Let this process use its reserve of memory, to report an error and to end."""
    if "memory" in _texts:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def reason_of(error: BaseException) -> str | None:
    """Return the limit that an error is about, or None.

    Example:
        >>> reason_of(ValueError("bad")) is None
        True
    """
    if isinstance(error, MemoryError):
        return _texts.get("memory")
    if isinstance(error, OSError) and error.errno == errno.EMFILE:
        return _texts.get("descriptors")
    return None
