"""What a name of PyFlink 1 is, and the note that its use logs."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import cache
from typing import Any

_logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Removed:
    """A name that PyFlink 2 has removed.

    Attributes:
        places: Modules or classes that have it, without `pyflink.`.
        name: Within them.
        value: What it is here.
        instead: Today's API.
    """

    places: tuple[str, ...]
    name: str
    value: Any
    instead: str


@cache
def note(name: str, instead: str) -> None:
    """Log what takes the place of a removed name, once."""
    _logger.warning("%s is of PyFlink 1 and was removed; use %s", name, instead)
