"""`Row` and `RowKind` (module as `pyflink.common.types`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

__all__ = ["Row", "RowKind"]


class UnknownFieldError(KeyError, ValueError):
    """A row has no field of that name: a `ValueError` in PyFlink, and what a lookup by a missing key raises."""


class RowKind(Enum):
    """The kind of change that a row represents (Flink: `types.RowKind`); `str()` returns `+I`, `-U`, `+U` or `-D`."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    def __str__(self) -> str:
        return _KIND_TEXT[self]


_KIND_TEXT = dict(zip(RowKind, ("+I", "-U", "+U", "-D"), strict=True))
_INSERT = RowKind.INSERT


class Row:
    """A record with fields by position and, if they are named, by name (Flink: `types.Row`).

    Two rows are equal if their kinds and values are equal and their names do not contradict each other. A row without
    names equals one with names, because `Types.ROW` names the fields `f0`, `f1` ... itself.

    Args:
        args: Values in the order of the fields; the row has no field names.
        kwargs: Values by field name, in the order of the fields.

    Raises:
        ValueError: there are both positional and named values.

    Example:
        >>> row = Row(name="Ann", age=11)
        >>> row.name, row["age"], row[0]
        ('Ann', 11, 'Ann')
        >>> Row("name", "age")("Ann", 11)
        Row(name='Ann', age=11)
    """

    __slots__ = ("_fields", "_row_kind", "_values")

    _fields: Sequence[str] | None
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: object, **kwargs: Any) -> None:
        if kwargs:
            if args:
                raise ValueError("A Row takes either positional or named values, found both")
            self._fields = list(kwargs)
            self._values = list(kwargs.values())
        else:
            self._fields = None
            self._values = list(args)
        self._row_kind = _INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: object, **kwargs: object) -> Row:
        """Return a row of a kind with the given values.

        Args:
            row_kind: The kind of change that the row is.
            *args: The fields by position, or
            **kwargs: the fields by name.
        """
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Return the values by field name.

        Args:
            recursive: Whether to convert nested rows to dicts, including rows in lists and dicts.

        Raises:
            TypeError: the row has no field names.
        """
        if self._fields is None:
            raise TypeError("A Row without field names cannot be converted to a dict; name them with set_field_names()")
        values = [_plain(value) for value in self._values] if recursive else self._values
        return dict(zip(self._fields, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """Return the kind of change."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Set the kind of change.

        Args:
            row_kind: The kind; new rows are `RowKind.INSERT`.
        """
        self._row_kind = row_kind

    def set_field_names(self, field_names: list[str]) -> None:
        """Set the names of the fields, in order.

        Args:
            field_names: One name for each value; the number is not checked, and the list is not copied.
        """
        self._fields = field_names

    def get_fields_by_names(self, names: list[str]) -> list[Any]:
        """Return the values in the order of the given names.

        If the row has no names, all values are returned in their own order.

        Args:
            names: Names of fields, in any order.

        Raises:
            ValueError: a name is not a field.
        """
        fields = self._fields
        if fields is None:
            return self._values
        missing = [name for name in names if name not in fields]
        if missing:
            raise ValueError(f"Field names {missing} do not exist in {list(fields)}")
        return [self._values[fields.index(name)] for name in names]

    def _index_of(self, name: str) -> int | None:
        return self._fields.index(name) if self._fields is not None and name in self._fields else None

    def __call__(self, *args: object) -> Row:
        """Return a row of the given values whose field names are the values of this row."""
        if len(args) > len(self._values):
            raise ValueError(f"Row of fields {self._values} takes {len(self._values)} values, found {len(args)}")
        return _make_row([str(name) for name in self._values], args, self._row_kind)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (int, slice)):
            return self._values[item]
        index = self._index_of(item)
        if index is None:
            raise UnknownFieldError(f"{item!r} is not a field; fields: {self._fields}")
        return self._values[index]

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(key, (int, slice)):
            self._values[key] = value
            return
        index = self._index_of(key)
        if index is None:
            raise UnknownFieldError(f"{key!r} is not a field; fields: {self._fields}")
        self._values[index] = value

    def __getattr__(self, item: str) -> Any:
        if item.startswith("_"):
            raise AttributeError(item)
        index = self._index_of(item)
        if index is None:
            raise AttributeError(f"{item!r} is not a field; fields: {self._fields}")
        return self._values[index]

    def __contains__(self, item: object) -> bool:
        """Return whether `item` is a field name or, for a row without names, one of its values."""
        return item in (self._values if self._fields is None else self._fields)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        if self._row_kind is not other._row_kind:
            return False
        names, others = self._fields, other._fields
        if names is None or others is None or list(names) == list(others):
            return self._values == other._values
        # The order of named fields does not affect equality.
        return sorted(names) == sorted(others) and self.as_dict() == other.as_dict()

    def __hash__(self) -> int:
        # A sum, as rows that name the same fields in another order are equal.
        return hash((len(self._values), sum(map(hash, self._values))))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._fields is None and self._row_kind is _INSERT:
            return Row, tuple(self._values)
        return _make_row, (self._fields, tuple(self._values), self._row_kind)

    def __repr__(self) -> str:
        if self._fields is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        named = zip(self._fields, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in named)})"


def _make_row(fields: Sequence[str] | None, values: Sequence[Any], row_kind: RowKind) -> Row:
    row = Row.__new__(Row)
    row._fields = fields
    row._values = list(values)
    row._row_kind = row_kind
    return row


def _plain(value: object) -> Any:
    if isinstance(value, Row):
        return value.as_dict(recursive=True)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
