"""The base class of all logical types."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

T = TypeVar("T", bound="DataType")


class DataType:
    """Base of all logical types. Flink: `LogicalType`; PyFlink: `DataType`."""

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable
        self._conversion_cls = ""

    @property
    def is_nullable(self) -> bool:
        """Return whether values of the type may be NULL."""
        return self._nullable

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the class in capitals, without its suffix `Type`."""
        return cls.__name__[:-4].upper()

    def nullable(self: T) -> T:
        """Return a copy of the type that allows NULL."""
        return self.with_nullable(True)

    def not_null(self: T) -> T:
        """Return a copy of the type that does not allow NULL."""
        return self.with_nullable(False)

    def with_nullable(self: T, nullable: bool) -> T:
        """Return the type with another nullability.

        Args:
            nullable: Whether values may be NULL.
        """
        if self._nullable == nullable:
            return self
        result = copy.copy(self)
        result._nullable = nullable
        return result

    def bridged_to(self: T, conversion_cls: str) -> T:
        """Return the type with a Java class for its values; it has no effect, also on equality.

        Args:
            conversion_cls: Name of a Java class.
        """
        result = copy.copy(self)
        result._conversion_cls = conversion_cls
        return result

    def same_as(self, other: DataType) -> bool:
        """Return whether both types are equal apart from their own nullability.

        Args:
            other: A type, whose components must have the same nullability.
        """
        return self.nullable() == other.nullable()

    def need_conversion(self) -> bool:
        """Return whether `to_sql_type` and `from_sql_type` change values."""
        return False

    def to_sql_type(self, obj: object) -> Any:
        """Return PyFlink's internal form of a value: numbers for times, tuples for rows.

        Args:
            obj: A Python value of the type, or None.
        """
        return obj

    def from_sql_type(self, obj: object) -> Any:
        """Return the Python value of PyFlink's internal form.

        Args:
            obj: A result of `to_sql_type`, or None.
        """
        return obj

    def _identity(self) -> tuple[object, ...]:
        """Return the attributes that decide equality within one class."""
        return (self._nullable,)

    def _arguments(self) -> tuple[object, ...]:
        """Return the arguments that the repr shows."""
        return self._identity()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._identity()))

    def __str__(self) -> str:
        return self.type_name()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(_shown, self._arguments()))})"


def _shown(argument: object) -> str:
    return str(argument).lower() if isinstance(argument, bool) else repr(argument)


class AtomicType(DataType):
    """A type that is not composed of other types."""


def expect_type(value: object, name: str) -> None:
    """Check that an argument is a `DataType`.

    Raises:
        TypeError: It is not.
    """
    if not isinstance(value, DataType):
        raise TypeError(f"{name} should be an instance of DataType, found {value!r}")
