"""Names of PyFlink's modules beyond their `__all__`, added to firesteel's modules."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from firesteel.compat.missing import MissingModule, MissingName, advice_for

_TABLE = Path(__file__).with_name("exposed_names.txt")
_OWN = "-"


def expose_names(*, of_tables: bool) -> None:
    """Add the names of PyFlink's modules to the modules of firesteel.

    Args:
        of_tables: Whether it is done for the modules of tables, which programs of streams do not need, or for others.
    """
    for place, origin, names in exposed_names():
        if (place.partition(".")[0] == "table") != of_tables:
            continue
        if is_in_firesteel(place):
            _expose(place, {name: partial(_value, origin, name) for name in names})
        else:
            package, _, name = place.rpartition(".")
            _expose(package, {name: partial(missing_module, place)})


def _expose(place: str, values: dict[str, Callable[[], object]]) -> None:
    module = importlib.import_module(f"firesteel.{place}")
    for name, value in values.items():
        if not hasattr(module, name):
            setattr(module, name, value())


def missing_module(name: str) -> MissingModule:
    """Return a placeholder for a module that only PyFlink has, given without `pyflink.`."""
    module = MissingModule(f"pyflink.{name}", advice_for(name) or "", _own_names(name))
    for place, origin, names in exposed_names():
        if place == name and origin != _OWN:
            vars(module).update({imported: _value(origin, imported) for imported in names})
    return module


def _own_names(module: str) -> frozenset[str]:
    """Return the names defined in a module of PyFlink that firesteel does not have; empty if they are unknown."""
    return frozenset(
        name for place, origin, names in exposed_names() if (place, origin) == (module, _OWN) for name in names
    )


def exposed_names() -> Iterator[tuple[str, str, list[str]]]:
    """Yield module, origin of the names, and names; modules of PyFlink without `pyflink.`."""
    for line in _TABLE.read_text().splitlines():
        if not line.startswith("#"):
            head, _, names = line.partition(": ")
            place, _, origin = head.partition(" < ")
            yield place, origin, names.split()


def is_in_firesteel(module: str) -> bool:
    """Return whether firesteel has a module, given without `pyflink.`."""
    try:
        return importlib.util.find_spec(f"firesteel.{module}") is not None
    except ModuleNotFoundError:
        return False


def _value(origin: str, name: str) -> object:
    if origin == "TypeVar":
        return TypeVar(name)
    value = getattr(_origin_module(origin), name, None)
    return MissingName(f"pyflink.{origin}.{name}", advice_for(origin) or "") if value is None else value


def _origin_module(origin: str) -> ModuleType | None:
    if is_in_firesteel(origin):
        return importlib.import_module(f"firesteel.{origin}")
    return None if advice_for(origin) else importlib.import_module(origin)
