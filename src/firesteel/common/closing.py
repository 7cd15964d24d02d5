"""Closes what a run has kept open for connectors."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Protocol

__all__ = ["close_all"]

logger = logging.getLogger(__name__)


class _Closeable(Protocol):
    def close(self) -> None: ...


def close_all(kept: Iterable[_Closeable]) -> None:
    """Close all of them; errors are logged, a `sys.exit()` of users too, as the run is over and must still say so."""
    for one in kept:
        try:
            one.close()
        except BaseException as error:
            logger.warning("a %s could not be closed: %s: %s", type(one).__name__, type(error).__name__, error)
