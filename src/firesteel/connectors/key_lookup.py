"""Lookups of rows by key, with a cache and retries, for clients that find rows for many keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.pylist import pylist
from firesteel.columns.values import to_arrow
from firesteel.connectors.lookup_cache import LookupCache
from firesteel.errors import FiresteelError

Row = tuple[Cell, ...]


class KeyLookupError(FiresteelError):
    """A lookup failed."""


class RowFinder(Protocol):
    """Finds rows. It is picklable, and connects when it is first used."""

    def find(self, keys: Sequence[Row]) -> Sequence[Sequence[Sequence[Cell]]]:
        """Return the rows of each key: Python values of all columns."""

    def is_transient(self, error: Exception) -> bool:
        """Return whether a failed lookup may succeed if it is repeated."""

    def close(self) -> None:
        """Release the connection; a later lookup connects again."""


@dataclass(frozen=True)
class Retries:
    """How failed lookups are repeated.

    Attributes:
        count: How often at most.
        wait_s: Returns the time in seconds before a retry, counted from 0.
    """

    count: int
    wait_s: Callable[[int], float]


def constant(wait_s: float, retry: int) -> float:
    """Return the same time before each retry."""
    return wait_s


class KeyLookup:
    """Finds the rows of keys by a client (Flink: `LookupFunction`).

    Args:
        finder: The client.
        types: The types of all columns.
        cache: Keeps results; None looks up each time.
        retries: How failed lookups are repeated.
        owner: The connector, for messages.
    """

    def __init__(
        self, finder: RowFinder, types: tuple[DataType, ...], cache: LookupCache | None, retries: Retries, owner: str
    ) -> None:
        self._finder = finder
        self._types = types
        self._cache = cache
        self._retries = retries
        self._owner = owner

    def __call__(self, keys: Sequence[Row]) -> list[list[Row]]:
        """Return the rows of each key.

        Raises:
            KeyLookupError: a lookup failed.
        """
        cached = [None if self._cache is None else self._cache.get(key) for key in keys]
        missing = [key for key, rows in zip(keys, cached, strict=True) if rows is None]
        found = iter(self._found(missing) if missing else ())
        return [next(found) if rows is None else rows for rows in cached]

    def _found(self, keys: list[Row]) -> list[list[Row]]:
        # Also those that are kept: a cached row must not differ from one that was just read.
        found = [self._as_stored(rows) for rows in self._with_retries(keys)]
        if self._cache is not None:
            for key, rows in zip(keys, found, strict=True):
                self._cache.put(key, rows)
        return found

    def _as_stored(self, rows: Sequence[Sequence[Cell]]) -> list[Row]:
        """Return rows with values as columns hold them."""
        if not rows:
            return []
        columns = zip(zip(*rows, strict=True), self._types, strict=True)
        return list(zip(*(pylist(to_arrow(values, kind)) for values, kind in columns), strict=True))

    def _with_retries(self, keys: list[Row]) -> Sequence[Sequence[Sequence[Cell]]]:
        for retry in range(self._retries.count + 1):
            try:
                return self._finder.find(keys)
            except Exception as error:
                # The connection may be what has failed; the next attempt begins with another one.
                with suppress(Exception):
                    self._finder.close()
                if retry == self._retries.count or not self._finder.is_transient(error):
                    shown = ", ".join(map(repr, keys[:3])) + (", ..." if len(keys) > 3 else "")
                    about = f"{self._owner} lookup of {shown}: {type(error).__name__}: {error}"
                    raise KeyLookupError(about) from error
                time.sleep(self._retries.wait_s(retry))
        raise AssertionError("the last attempt returns or raises")

    def open(self) -> None:
        """Do nothing: the client connects when it is first used."""

    def close(self) -> None:
        """Release the connection."""
        self._finder.close()
