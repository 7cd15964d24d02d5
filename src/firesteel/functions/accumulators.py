"""Reduce functions of `sum`, `min`, `max`, `min_by` and `max_by`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.types import Row

Reduce = Callable[[Any, Any], Any]


def _add(a: object, b: Any) -> Any:
    return a + b


_FIELD_FUNCTIONS: dict[str, Reduce] = {"sum": _add, "min": min, "max": max}


def accumulator(kind: str, position: int | str) -> Reduce:
    """Return the reduce function of a rolling aggregation over one field.

    `sum`, `min` and `max` keep the other fields of the first value. `min_by` and `max_by` keep the whole value, and the
    first one among equals.

    Args:
        kind: `sum`, `min`, `max`, `min_by` or `max_by`.
        position: Index of a field of a tuple, list or Row, or its name in a Row; a scalar has position 0 only.

    Raises:
        TypeError: `position` is neither int nor str.
    """
    if not isinstance(position, (int, str)) or isinstance(position, bool):
        raise TypeError(f"The field position of {kind} must be of int or str type, found {position!r}")
    if kind in _FIELD_FUNCTIONS:
        return _field_accumulator(kind, position, _FIELD_FUNCTIONS[kind])

    def keep(value1: object, value2: object) -> Any:
        first, second = _field(value1, position, kind), _field(value2, position, kind)
        # Written as in Flink: what compares with nothing, as NaN does, replaces no value and is replaced by none.
        return value2 if (second < first if kind == "min_by" else second > first) else value1

    return keep


def _field_accumulator(kind: str, position: int | str, combine: Reduce) -> Reduce:
    def accumulate(value1: object, value2: object) -> Any:
        result = combine(_field(value1, position, kind), _field(value2, position, kind))
        return _with_field(value1, position, result)

    return accumulate


def _field(value: object, position: int | str, kind: str) -> Any:
    if isinstance(value, (tuple, list, Row)):
        try:
            if isinstance(value, Row):
                return value[position]
            if isinstance(position, int):
                return value[position]
            raise TypeError
        except (IndexError, KeyError, TypeError):
            raise TypeError(f"{kind}({position!r}): there is no such field in {value!r}") from None
    if position != 0:
        raise TypeError(f"{kind}({position!r}): a scalar has only position 0, found {value!r}")
    return value


def _with_field(value: object, position: int | str, result: object) -> object:
    if isinstance(value, tuple):
        assert isinstance(position, int)
        fields = list(value)
        fields[position] = result
        return tuple(fields)
    if isinstance(value, list):
        assert isinstance(position, int)
        copied = list(value)
        copied[position] = result
        return copied
    if isinstance(value, Row):
        row = Row.of_kind(value.get_row_kind(), *value)
        row._fields = value._fields
        row[position] = result
        return row
    return result
