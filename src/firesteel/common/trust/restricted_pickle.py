"""Readers of pickles that run no code: they create plain data and the classes of a table only."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping
from typing import Any

__all__ = ["VALUES", "load_listed", "load_plain", "load_values"]

Table = Mapping[str, tuple[str, ...]]
"""Module -> names of classes and functions that a pickle may refer to."""

VALUES: Table = {
    "datetime": ("date", "datetime", "time", "timedelta", "timezone"),
    "decimal": ("Decimal",),
    "uuid": ("UUID", "SafeUUID"),
    "builtins": ("set", "frozenset", "dict", "bytearray", "complex"),
    "collections": ("OrderedDict",),
}
"""Values and containers whose constructors only convert their arguments."""


class _TableUnpickler(pickle.Unpickler):
    """Creates the classes of a table, and refuses others."""

    def __init__(self, data: bytes, what: str, table: Table, moved: Mapping[str, str]) -> None:
        super().__init__(io.BytesIO(data))
        self._what = what
        self._table = table
        self._moved = moved

    def find_class(self, module: str, name: str) -> object:
        module = self._moved.get(module, module)
        # A name with dots, which leads from a listed class to anything, is in no table.
        if name in self._table.get(module, ()):
            return super().find_class(module, name)
        allowed = sorted(f"{known}.{member}" for known, members in self._table.items() for member in members)
        raise pickle.UnpicklingError(
            f"{module}.{name} is not part of {self._what}; allowed: {', '.join(allowed) or 'plain data'}"
        )


def load_listed(data: bytes, what: str, table: Table, moved: Mapping[str, str] | None = None) -> object:
    """Return pickled data that consists of plain data and listed classes.

    Args:
        data: The pickle.
        what: What it is, for the message.
        table: The classes.
        moved: Former and present names of modules, for data of earlier releases.

    Raises:
        pickle.UnpicklingError: (all readers) it refers to another class or function.
    """
    return _TableUnpickler(data, what, table, moved or {}).load()


def load_plain(data: bytes, what: str = "plain data") -> Any:
    """Return pickled numbers, text, bytes, and lists, tuples, dicts and sets of those.

    Example:
        >>> load_plain(pickle.dumps({"a": [1, 2.5, None]}))
        {'a': [1, 2.5, None]}
        >>> load_plain(pickle.dumps(print))
        Traceback (most recent call last):
        ...
        _pickle.UnpicklingError: builtins.print is not part of plain data; allowed: plain data
    """
    return load_listed(data, what, {})


def load_values(data: bytes, what: str) -> object:
    """Return pickled plain data that may contain dates, times, decimals and UUIDs."""
    return load_listed(data, what, VALUES)
