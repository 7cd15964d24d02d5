"""Description of a name of PyFlink 1, and the note that its use logs."""

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
        name: The name.
        value: Its implementation here.
        instead: Its replacement in today's API.
        widens: Whether it takes the place of a method that still exists, and also accepts that method's arguments.
    """

    places: tuple[str, ...]
    name: str
    value: Any
    instead: str
    widens: bool = False


@cache
def note(name: str, instead: str) -> None:
    """Log the replacement of a removed name, once."""
    _logger.warning("%s is from PyFlink 1 and was removed; use %s", name, instead)
