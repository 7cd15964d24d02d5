"""The identifiers of connectors and formats, and the modules that they stand for.

A folder in this package declares its own: `TABLES` of a connector, `FILES` and `MESSAGES` of a format are from
identifiers to modules in the folder. Other packages declare theirs by entry points. These are looked up for identifiers
that are not built in only, as that takes 10 ms (docs/decisions/0048-connectors-of-other-packages.md).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Literal

from firesteel import connectors
from firesteel.common.table_errors import ValidationException
from firesteel.connectors import formats

Use = Literal["files", "messages"]

CONNECTORS_GROUP, FORMATS_GROUP = "firesteel.connectors", "firesteel.formats"
"""Groups of entry points: the name is an identifier, the value a module."""


@cache
def table_connectors() -> Mapping[str, str]:
    """Return the module of each built-in table connector by its identifier.

    It has `source(table, context)`, `sink(table, request, context)` or both.
    """
    return _declared(connectors, "TABLES")


@cache
def table_formats(use: Use) -> Mapping[str, str]:
    """Return the module of each built-in format by its identifier. It has `make(columns, options)`.

    Args:
        use: Whether the format is for files or for messages; one identifier may have a module for each.
    """
    return _declared(formats, use.upper())


def connector_module(identifier: str) -> ModuleType | None:
    """Return the module of a connector, built in or of another package; None if there is none.

    Raises:
        ValidationException: several packages have the identifier, or the module cannot be used.
    """
    built_in = table_connectors().get(identifier)
    if built_in is not None:
        return importlib.import_module(built_in)
    return _of_package(CONNECTORS_GROUP, identifier, ("source", "sink"))


def format_module(identifier: str, use: Use) -> ModuleType | None:
    """Return the module of a format, built in or of another package; None if there is none for this use.

    Raises:
        ValidationException: several packages have the identifier, or the module cannot be used.
    """
    built_in = table_formats(use).get(identifier)
    if built_in is not None:
        return importlib.import_module(built_in)
    found = _of_package(FORMATS_GROUP, identifier, ("make",))
    return found if found is not None and use in _uses(found) else None


def known_connectors() -> list[str]:
    """Return the identifiers of all connectors, those of other packages with the package."""
    return _listed(table_connectors(), CONNECTORS_GROUP)


def known_formats(use: Use) -> list[str]:
    """Return the identifiers of all formats for a use, those of other packages with the package."""
    return _listed(table_formats(use), FORMATS_GROUP)


def _uses(module: ModuleType) -> tuple[str, ...]:
    """Return what a format of another package is for: what its module says, else both."""
    return tuple(getattr(module, "USES", ("files", "messages")))


_loaded: dict[tuple[str, str], ModuleType] = {}
"""Modules of packages by group and identifier. What is not found is looked up again: a notebook may install it."""


def _of_package(group: str, identifier: str, functions: tuple[str, ...]) -> ModuleType | None:
    if (group, identifier) not in _loaded:
        point = _by_identifier(group).get(identifier)
        if point is None:
            return None
        _loaded[group, identifier] = _module_of(point, functions)
    return _loaded[group, identifier]


def _module_of(point: EntryPoint, functions: tuple[str, ...]) -> ModuleType:
    whose = f"'{point.name}' of the package {_package(point)}"
    try:
        module = point.load()
    except Exception as error:  # the package's own code runs
        raise ValidationException(f"{whose} cannot be loaded: {type(error).__name__}: {error}") from error
    if not any(callable(getattr(module, function, None)) for function in functions):
        wanted = " or ".join(f"{function}()" for function in functions)
        raise ValidationException(f"{whose} must be a module with {wanted}, found {point.value}")
    assert isinstance(module, ModuleType)
    return module


def _by_identifier(group: str) -> dict[str, EntryPoint]:
    """Return the entry points of a group.

    Raises:
        ValidationException: an identifier is declared by two packages, or is built in.
    """
    found: dict[str, EntryPoint] = {}
    built_in = _built_in(group)
    for point in entry_points(group=group):
        if point.name in built_in:
            raise _declared_twice(point.name, "firesteel", _package(point))
        other = found.setdefault(point.name, point)
        if other.value != point.value or _package(other) != _package(point):
            raise _declared_twice(point.name, _package(other), _package(point))
    return found


def _built_in(group: str) -> set[str]:
    return (
        set(table_connectors()) if group == CONNECTORS_GROUP else {*table_formats("files"), *table_formats("messages")}
    )


def _declared_twice(identifier: str, first: str, second: str) -> ValidationException:
    return ValidationException(
        f"The identifier '{identifier}' is declared by two packages, {first} and {second}. Uninstall one of them"
    )


def _package(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist is not None else point.value


def _listed(built_in: Mapping[str, str], group: str) -> list[str]:
    others = {name: f"{name} (of the package {_package(point)})" for name, point in _by_identifier(group).items()}
    return [text for _, text in sorted({**{name: name for name in built_in}, **others}.items())]


def _declared(package: ModuleType, attribute: str) -> dict[str, str]:
    """Return what the folders in a package declare; to import these loads none of their other modules."""
    found: dict[str, str] = {}
    for folder in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if folder.ispkg:
            declared = getattr(importlib.import_module(folder.name), attribute, {})
            found |= {identifier: f"{folder.name}.{module}" for identifier, module in declared.items()}
    return dict(sorted(found.items()))
