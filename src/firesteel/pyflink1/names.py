"""All names of PyFlink 1, and their installation in firesteel's modules and classes."""

from __future__ import annotations

import importlib
from types import ModuleType

from firesteel.pyflink1 import (
    checkpoint_settings,
    kafka,
    restart_strategies,
    schemas,
    state_backends,
    string_encoder,
    text_files,
    time_characteristic,
)
from firesteel.pyflink1.removed import Removed

_PIECES = (
    checkpoint_settings,
    kafka,
    restart_strategies,
    schemas,
    state_backends,
    string_encoder,
    text_files,
    time_characteristic,
)
REMOVED: tuple[Removed, ...] = sum((piece.REMOVED for piece in _PIECES), ())


def add_names() -> None:
    """Add the names of PyFlink 1 to modules and classes."""
    for removed in REMOVED:
        for place in removed.places:
            owner = _owner(place)
            if not hasattr(owner, removed.name):
                setattr(owner, removed.name, removed.value)


def _owner(place: str) -> ModuleType | type:
    """Return the module or class of a place; the last component is a class if it begins with an upper-case letter."""
    module, _, name = place.rpartition(".")
    if name[0].isupper():
        owner: type = getattr(importlib.import_module(f"firesteel.{module}"), name)
        return owner
    return importlib.import_module(f"firesteel.{place}")
