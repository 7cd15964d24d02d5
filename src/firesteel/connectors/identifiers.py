"""The identifiers of connectors and formats, each declared by the `__init__.py` of its folder.

A connector has `TABLES`, a format `FILES` and `MESSAGES`: from identifiers to modules in the folder.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import Literal

from firesteel import connectors
from firesteel.connectors import formats

Use = Literal["files", "messages"]


@cache
def table_connectors() -> Mapping[str, str]:
    """Return the module of each table connector by its identifier.

    It has `source(table, context)`, `sink(table, request, context)` or both.
    """
    return _declared(connectors, "TABLES")


@cache
def table_formats(use: Use) -> Mapping[str, str]:
    """Return the module of each format by its identifier. It has `make(columns, options)`.

    Args:
        use: Whether the format is for files or for messages; one identifier may have a module for each.
    """
    return _declared(formats, use.upper())


def _declared(package: ModuleType, attribute: str) -> dict[str, str]:
    """Return what the folders in a package declare; to import these loads none of their other modules."""
    found: dict[str, str] = {}
    for folder in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if folder.ispkg:
            declared = getattr(importlib.import_module(folder.name), attribute, {})
            found |= {identifier: f"{folder.name}.{module}" for identifier, module in declared.items()}
    return dict(sorted(found.items()))
