"""The contents of a window and their evaluation: a list of elements, a reduced value or an accumulator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.values.coercion import coercer
from firesteel.common.values.ownership import IMMUTABLE, own
from firesteel.functions.user_functions import (
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from firesteel.operators.chain.function_calls import method_of
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_table import StateTable
from firesteel.operators.windows.window_contexts import WindowFunctionContext
from firesteel.operators.windows.window_table import ByKey

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation


class WindowContents(Protocol):
    """The operations on the stored contents of a window: add elements, merge contents, and read them."""

    def add(self, stored: Any, value: object) -> Any:
        """Return the contents with one more element; `stored` is None for a new window."""

    def add_all(self, by_key: ByKey, values: list[Any]) -> None:
        """Add `(key, value)` elements to a window's contents by key."""

    def merge(self, first: Any, second: Any) -> Any:
        """Return the merged contents of two windows."""

    def read(self, stored: Any) -> list[Any]:
        """Return the elements that a window function receives."""


class ElementContents:
    """The list of all elements of a window."""

    def add(self, stored: Any, value: object) -> Any:
        """Append an element and return the list."""
        if stored is None:
            return [value]
        stored.append(value)
        return stored

    def add_all(self, by_key: ByKey, values: list[Any]) -> None:
        """Append each element to the list of its key."""
        get = by_key.get
        for key, value in values:
            stored = get(key)
            if stored is None:
                by_key[key] = [value]
            else:
                stored.append(value)
                by_key[key] = stored

    def merge(self, first: object, second: Any) -> Any:
        """Return the concatenation of both lists."""
        return first + second

    def read(self, stored: list[Any]) -> list[Any]:
        """Return the stored elements in order, without a copy."""
        return stored


class ReducedContents:
    """The reduction of all elements of a window."""

    def __init__(self, function: object, state_type: TypeInformation[Any] | None, backend: KeyedStateBackend) -> None:
        self._reduce = method_of(function, "reduce")
        self._coerce = coercer(state_type)
        self._backend = backend

    def add(self, stored: object, value: object) -> Any:
        """Return the reduction with one more element."""
        return value if stored is None else self.merge(stored, value)

    def add_all(self, by_key: ByKey, values: list[Any]) -> None:
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

    def merge(self, first: object, second: object) -> Any:
        """Return the reduction of two values; a value changed in place is not copied."""
        reduced = self._reduce(first, second)
        if self._coerce is not None:
            return self._coerce(reduced)
        return reduced if reduced is first or reduced is second else own(reduced)

    def read(self, stored: Any) -> list[Any]:
        """Return the reduced value in a list."""
        return [stored]


class AggregatedContents:
    """The accumulator of an AggregateFunction."""

    def __init__(self, function: Any, state_type: TypeInformation[Any] | None, backend: KeyedStateBackend) -> None:
        self._function = function
        self._coerce = coercer(state_type)
        self._backend = backend

    def add(self, stored: Any, value: object) -> Any:
        """Return the accumulator with one more element."""
        accumulator = own(self._function.create_accumulator()) if stored is None else stored
        added = self._function.add(value, accumulator)
        if self._coerce is not None:
            return self._coerce(added)
        return added if added is accumulator else own(added)

    def add_all(self, by_key: ByKey, values: list[Any]) -> None:
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
            by_key[key] = added

    def merge(self, first: Any, second: object) -> Any:
        """Return the merged accumulator."""
        merged = self._function.merge(first, second)
        return merged if merged is first or merged is second else own(merged)

    def read(self, stored: Any) -> list[Any]:
        """Return the result of the accumulator in a list."""
        return [self._function.get_result(stored)]


def contents_of(
    aggregation: object, state_type: TypeInformation[Any] | None, backend: KeyedStateBackend
) -> WindowContents:
    """Return the contents for a ReduceFunction, a callable, an AggregateFunction, or None for all elements."""
    if aggregation is None:
        return ElementContents()
    if hasattr(aggregation, "create_accumulator"):
        return AggregatedContents(aggregation, state_type, backend)
    return ReducedContents(aggregation, state_type, backend)


Evaluate = Callable[[Any, Any, list[Any], WindowFunctionContext], Iterable[Any] | None]
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


def merge_stored(table: StateTable, contents: WindowContents, target: object, sources: Iterable[Any]) -> None:
    """Merge the contents of the `sources` entries into the `target` entry."""
    merged = table.data.get(target)
    for source in sources:
        if source == target:
            continue
        stored = table.data.get(source)
        if stored is not None:
            merged = stored if merged is None else contents.merge(merged, stored)
            table.remove(source)
    if merged is not None:
        table.put(target, merged)
