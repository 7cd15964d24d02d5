"""All names of PyFlink 1, and their installation in firesteel's modules and classes."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from itertools import takewhile
from types import ModuleType

from firesteel.pyflink1 import (
    checkpoint_settings,
    java_serializers,
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
    java_serializers,
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
    """Add the names of PyFlink 1 to the modules and classes of streams."""
    install(REMOVED)


def install(names: Iterable[Removed]) -> None:
    """Add names to modules and classes that do not have them, and widen methods that they have.

    Modules export them, too: programs import `*` from `pyflink.table`.
    """
    for removed in names:
        for place in removed.places:
            owner = owner_of(place)
            if removed.widens or not hasattr(owner, removed.name):
                setattr(owner, removed.name, removed.value)
                exported: list[str] | None = vars(owner).get("__all__")
                if exported is not None:
                    exported.append(removed.name)


def owner_of(place: str) -> ModuleType | type:
    """Return the module or class of a place; components that begin with an upper-case letter are classes."""
    parts = place.split(".")
    modules = list(takewhile(lambda part: not part[0].isupper(), parts))
    owner: ModuleType | type = importlib.import_module(".".join(("firesteel", *modules)))
    for name in parts[len(modules) :]:
        owner = getattr(owner, name)
    return owner
