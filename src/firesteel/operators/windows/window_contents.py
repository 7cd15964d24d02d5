"""The contents of a window and their evaluation: a list of elements, a reduced value or an accumulator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.values.coercion import coercer
from firesteel.common.values.ownership import IMMUTABLE, own, own_all
from firesteel.functions.user_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from firesteel.operators.chain.function_calls import method_of
from firesteel.operators.state.disk_list import DiskList
from firesteel.operators.state.entries import Stored
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_table import StateTable
from firesteel.operators.windows.window_contexts import WindowFunctionContext
from firesteel.operators.windows.window_table import ByKey

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation


class WindowContents(Protocol):
    """The operations on the stored contents of a window: add elements, merge contents, and read them.

    Attributes:
        grows: Whether the contents are a list that elements are appended to.
    """

    grows: bool

    def add(self, table: StateTable, entry: object, value: object) -> None:
        """Add an element to the contents of an entry."""

    def add_all(self, by_key: ByKey, values: list[Stored]) -> None:
        """Add `(key, value)` elements to a window's contents by key."""

    def merge(self, table: StateTable, entry: object, stored: Stored) -> None:
        """Merge the contents of another window into those of an entry."""

    def copied(self, stored: Stored) -> Stored:
        """Return contents that a window function may change, while the window keeps its own."""

    def read(self, stored: Stored) -> Sequence[Stored]:
        """Return the elements that a window function receives; without any the window does not fire, as in Flink."""


class ElementContents:
    """The list of all elements of a window."""

    grows = True

    def add(self, table: StateTable, entry: object, value: object) -> None:
        """Append an element."""
        table.append(entry, [value])

    def add_all(self, by_key: ByKey, values: list[Stored]) -> None:
        """Append each element to the list of its key."""
        get = by_key.get
        for key, value in values:
            stored = get(key)
            if stored is None:
                by_key[key] = [value]
            else:
                # Appended and set again, for mappings on disk, see `AggregatedContents.add_all`.
                stored.append(value)
                by_key[key] = stored

    def merge(self, table: StateTable, entry: object, stored: Stored) -> None:
        """Append the elements of another window."""
        table.append(entry, stored)

    def copied(self, stored: list[Stored] | DiskList) -> Stored:
        """Return a list of unshared elements."""
        return stored.view(own_all) if isinstance(stored, DiskList) else own_all(list(stored))

    def read(self, stored: list[Stored] | DiskList) -> Sequence[Stored]:
        """Return the stored elements in order, without a copy."""
        return stored.view() if isinstance(stored, DiskList) else stored


class _CombinedContents(ABC):
    """The combination of all elements of a window into one value."""

    grows = False

    @abstractmethod
    def _added(self, stored: Stored, value: object) -> Stored:
        """Return the contents with one more element; None are those of a new window, as in Flink."""

    @abstractmethod
    def _merged(self, first: Stored, second: Stored) -> Stored: ...

    def add(self, table: StateTable, entry: object, value: object) -> None:
        """Combine an element with the contents of an entry."""
        table.update(entry, self._added(table.data.get(entry), value))

    def merge(self, table: StateTable, entry: object, stored: Stored) -> None:
        """Combine the contents of another window with those of an entry."""
        before = table.data.get(entry)
        table.update(entry, stored if before is None else self._merged(before, stored))

    def copied(self, stored: Stored) -> Stored:
        """Return an unshared copy."""
        return own(stored)


class ReducedContents(_CombinedContents):
    """The reduction of all elements of a window."""

    def __init__(self, function: object, state_type: TypeInformation[Any] | None, backend: KeyedStateBackend) -> None:
        self._reduce = method_of(function, "reduce")
        self._coerce = coercer(state_type)
        self._backend = backend

    def _added(self, stored: object, value: object) -> Stored:
        return value if stored is None else self._merged(stored, value)

    def add_all(self, by_key: ByKey, values: list[Stored]) -> None:
        """Reduce the elements by key."""
        get, reduce, coerce, backend = by_key.get, self._reduce, self._coerce, self._backend
        for key, value in values:
            stored = get(key)
            if stored is not None:
                backend.current_key = key
                found = reduce(stored, value)
                if coerce is not None:
                    value = coerce(found)
                elif found is stored or found is value or found.__class__ in IMMUTABLE:
                    value = found
                else:
                    value = own(found)
            by_key[key] = value

    def _merged(self, first: object, second: object) -> Stored:
        """Return the reduction of two values; a value changed in place is not copied."""
        reduced = self._reduce(first, second)
        if self._coerce is not None:
            return self._coerce(reduced)
        return reduced if reduced is first or reduced is second else own(reduced)

    def read(self, stored: Stored) -> Sequence[Stored]:
        """Return the reduced value in a list."""
        return _unless_none(stored)


class AggregatedContents(_CombinedContents):
    """The accumulator of an AggregateFunction."""

    def __init__(self, function: Stored, state_type: TypeInformation[Any] | None, backend: KeyedStateBackend) -> None:
        self._function = function
        self._coerce = coercer(state_type)
        self._backend = backend

    def _added(self, stored: Stored, value: object) -> Stored:
        accumulator = own(self._function.create_accumulator()) if stored is None else stored
        added = self._function.add(value, accumulator)
        if self._coerce is not None:
            return self._coerce(added)
        return added if added is accumulator else own(added)

    def add_all(self, by_key: ByKey, values: list[Stored]) -> None:
        """Accumulate the elements by key."""
        get, create, add = by_key.get, self._function.create_accumulator, self._function.add
        coerce, backend = self._coerce, self._backend
        for key, value in values:
            backend.current_key = key
            stored = get(key)
            if stored is None:
                stored = own(create())
            added = add(value, stored)
            if coerce is not None:
                added = coerce(added)
            elif added is not stored and added.__class__ not in IMMUTABLE:
                added = own(added)
            # Set even if it is the stored object: only so a mapping on disk learns of changes in place.
            by_key[key] = added

    def _merged(self, first: Stored, second: object) -> Stored:
        merged = self._function.merge(first, second)
        if self._coerce is not None:
            return self._coerce(merged)
        return merged if merged is first or merged is second else own(merged)

    def read(self, stored: Stored) -> Sequence[Stored]:
        """Return the result of the accumulator in a list."""
        return [] if stored is None else _unless_none(self._function.get_result(stored))


def _unless_none(value: Stored) -> list[Stored]:
    return [] if value is None else [value]


def contents_of(
    aggregation: object, state_type: TypeInformation[Any] | None, backend: KeyedStateBackend
) -> WindowContents:
    """Return the contents for a ReduceFunction, a callable, an AggregateFunction, or None for all elements."""
    if aggregation is None:
        return ElementContents()
    if hasattr(aggregation, "create_accumulator"):
        return AggregatedContents(aggregation, state_type, backend)
    return ReducedContents(aggregation, state_type, backend)


Evaluate = Callable[[Any, Any, Sequence[Any], WindowFunctionContext], Iterable[Any] | None]
"""(key, window, elements, context) -> results."""


def evaluation_of(window_function: object) -> Evaluate:
    """Return a function that calls the window function; without one the results are the elements themselves."""
    if window_function is None:
        return lambda key, window, elements, context: elements
    if isinstance(window_function, ProcessWindowFunction):
        return lambda key, window, elements, context: window_function.process(key, context, elements)
    if isinstance(window_function, ProcessAllWindowFunction):
        return lambda key, window, elements, context: window_function.process(context, elements)
    if isinstance(window_function, WindowFunction):
        return lambda key, window, elements, context: window_function.apply(key, window, elements)
    if isinstance(window_function, AllWindowFunction):
        return lambda key, window, elements, context: window_function.apply(window, elements)
    raise TypeError(
        "a window function must be a WindowFunction, ProcessWindowFunction, AllWindowFunction or "
        f"ProcessAllWindowFunction, found {window_function!r}"
    )


def merge_stored(table: StateTable, contents: WindowContents, target: object, sources: Iterable[object]) -> None:
    """Move the contents of the `sources` entries into the `target` entry."""
    for source in sources:
        stored = table.data.get(source)
        if stored is not None:
            table.remove(source)
            contents.merge(table, target, stored)
