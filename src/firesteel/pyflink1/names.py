"""All names of PyFlink 1, and how they get into firesteel's modules and classes."""

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
    """Give modules and classes the names that they had in PyFlink 1."""
    for removed in REMOVED:
        for place in removed.places:
            owner = _owner(place)
            if not hasattr(owner, removed.name):
                setattr(owner, removed.name, removed.value)


def _owner(place: str) -> ModuleType | type:
    """Return the module or class of a place; a class is the last word, in upper case at its beginning."""
    module, _, name = place.rpartition(".")
    if name[0].isupper():
        owner: type = getattr(importlib.import_module(f"firesteel.{module}"), name)
        return owner
    return importlib.import_module(f"firesteel.{place}")
