"""Logical types with the names, constructors and reprs of `pyflink.table.types`.

Types are values: equal types have equal hashes, and `nullable()`, `not_null()` and `with_kind()` return copies.
Only `RowType.add` changes its object, as in PyFlink, where programs build a row type field by field.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, TypeVar

MAX_LENGTH = 2_147_483_647
MAX_DECIMAL_PRECISION = 38

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
        """Return the type with NULL as a value."""
        return self.with_nullable(True)

    def not_null(self: T) -> T:
        """Return the type without NULL as a value."""
        return self.with_nullable(False)

    def with_nullable(self: T, nullable: bool) -> T:
        """Return the type with this nullability."""
        if self._nullable == nullable:
            return self
        result = copy.copy(self)
        result._nullable = nullable
        return result

    def bridged_to(self: T, conversion_cls: str) -> T:
        """Return the type with the Java class that values are handed over as; it does not count in equality."""
        result = copy.copy(self)
        result._conversion_cls = conversion_cls
        return result

    def same_as(self, other: DataType) -> bool:
        """Return whether both types are equal apart from their own nullability."""
        return self.nullable() == other.nullable()

    def _identity(self) -> tuple[Any, ...]:
        """Return what makes two types of one class equal."""
        return (self._nullable,)

    def _arguments(self) -> tuple[Any, ...]:
        """Return what the repr shows."""
        return self._identity()

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((type(self).__name__, self._identity()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(_shown, self._arguments()))})"


def _shown(argument: Any) -> str:
    return str(argument).lower() if isinstance(argument, bool) else repr(argument)


class AtomicType(DataType):
    """A type that is not made of other types."""


class NullType(AtomicType):
    """The type of the untyped NULL."""

    def __init__(self) -> None:
        super().__init__(True)


class BooleanType(AtomicType):
    """`BOOLEAN`."""


class NumericType(AtomicType):
    """Base of the types of numbers."""


class IntegralType(NumericType):
    """Base of the types of whole numbers."""


class FractionalType(NumericType):
    """Base of the types of fractions."""


class TinyIntType(IntegralType):
    """`TINYINT`, 8 bits."""


class SmallIntType(IntegralType):
    """`SMALLINT`, 16 bits."""


class IntType(IntegralType):
    """`INT`, 32 bits."""


class BigIntType(IntegralType):
    """`BIGINT`, 64 bits."""


class FloatType(FractionalType):
    """`FLOAT`, 32 bits."""


class DoubleType(FractionalType):
    """`DOUBLE`, 64 bits."""


class DecimalType(FractionalType):
    """`DECIMAL(precision, scale)`."""

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        if not 1 <= precision <= MAX_DECIMAL_PRECISION:
            raise ValueError(f"Decimal precision must be between 1 and 38 (both inclusive), found {precision}")
        if not 0 <= scale <= precision:
            raise ValueError(f"Decimal scale must be between 0 and the precision {precision}, found {scale}")
        super().__init__(nullable)
        self.precision = precision
        self.scale = scale

    def _identity(self) -> tuple[Any, ...]:
        return self.precision, self.scale, self._nullable


class _LengthType(AtomicType):
    """Base of the types of characters and bytes."""

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        if not 0 <= length <= MAX_LENGTH:
            raise ValueError(f"The length of {self.type_name()} must be between 1 and {MAX_LENGTH}, found {length}")
        super().__init__(nullable)
        self.length = length

    def _identity(self) -> tuple[Any, ...]:
        return self.length, self._nullable


class CharType(_LengthType):
    """`CHAR(length)`; only a literal may have length 0."""


class VarCharType(_LengthType):
    """`VARCHAR(length)`; `STRING` is `VARCHAR(2147483647)`."""


class BinaryType(_LengthType):
    """`BINARY(length)`."""


class VarBinaryType(_LengthType):
    """`VARBINARY(length)`; `BYTES` is `VARBINARY(2147483647)`."""


class DateType(AtomicType):
    """`DATE`."""

    EPOCH_ORDINAL = 719_163


class _PrecisionType(AtomicType):
    """Base of the types of times with a precision of fractions of a second."""

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        if not 0 <= precision <= 9:
            raise ValueError(f"The precision of {self.type_name()} must be between 0 and 9, found {precision}")
        super().__init__(nullable)
        self.precision = precision

    def _identity(self) -> tuple[Any, ...]:
        return self.precision, self._nullable


class TimeType(_PrecisionType):
    """`TIME(precision)`."""

    EPOCH_ORDINAL = 0

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)


class TimestampKind(Enum):
    """The role of a timestamp column. Flink: `TimestampKind`."""

    REGULAR = "REGULAR"
    ROWTIME = "ROWTIME"
    PROCTIME = "PROCTIME"


class _TimestampBase(_PrecisionType):
    """Base of the timestamps that can be time attributes.

    Attributes:
        kind: `ROWTIME` or `PROCTIME` for a time attribute; it does not count in equality.
    """

    def __init__(self, precision: int = 6, nullable: bool = True, kind: TimestampKind = TimestampKind.REGULAR) -> None:
        super().__init__(precision, nullable)
        self.kind = kind

    def with_kind(self: TS, kind: TimestampKind) -> TS:
        """Return the type as a time attribute of this kind, or as a plain timestamp for `REGULAR`."""
        if self.kind is kind:
            return self
        result = copy.copy(self)
        result.kind = kind
        return result


TS = TypeVar("TS", bound=_TimestampBase)


class TimestampType(_TimestampBase):
    """`TIMESTAMP(precision)`: a wall clock time without time zone."""


class LocalZonedTimestampType(_TimestampBase):
    """`TIMESTAMP_LTZ(precision)`: a point in time, shown in the session's time zone."""

    EPOCH_ORDINAL = 0


class ZonedTimestampType(_PrecisionType):
    """`TIMESTAMP(precision) WITH TIME ZONE`."""


class Resolution:
    """The unit at one end of an interval type, as `DataTypes.DAY(2)` gives it."""

    class IntervalUnit(Enum):
        """The units of interval types."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> IntervalUnit:
        """Return the unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """Return the number of digits, -1 for the default."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """`INTERVAL YEAR`, `INTERVAL YEAR TO MONTH` or `INTERVAL MONTH`: a number of months."""

    class YearMonthResolution:
        """The resolutions of a year-month interval."""

        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION = 2

    def __init__(self, resolution: int, precision: int = DEFAULT_PRECISION, nullable: bool = True) -> None:
        if not 1 <= precision <= 4:
            raise ValueError(f"Year precision must be between 1 and 4, found {precision}")
        super().__init__(nullable)
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> int:
        """Return the resolution, one of `YearMonthResolution`."""
        return self._resolution

    @property
    def precision(self) -> int:
        """Return the number of digits of the years."""
        return self._precision

    def _identity(self) -> tuple[Any, ...]:
        return self._resolution, self._precision, self._nullable

    def _arguments(self) -> tuple[Any, ...]:
        return (self._nullable,)


class DayTimeIntervalType(AtomicType):
    """An interval of days to fractions of seconds."""

    class DayTimeResolution(Enum):
        """The resolutions of a day-time interval."""

        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    def __init__(
        self,
        resolution: DayTimeResolution,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        if not 1 <= day_precision <= 6:
            raise ValueError(f"Day precision must be between 1 and 6, found {day_precision}")
        if not 0 <= fractional_precision <= 9:
            raise ValueError(f"Fractional precision must be between 0 and 9, found {fractional_precision}")
        super().__init__(nullable)
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> DayTimeResolution:
        """Return the first and last unit."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """Return the number of digits of the days."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """Return the number of digits of fractions of a second."""
        return self._fractional_precision

    def _identity(self) -> tuple[Any, ...]:
        return self._resolution, self._day_precision, self._fractional_precision, self._nullable

    def _arguments(self) -> tuple[Any, ...]:
        return (self._nullable,)


class ArrayType(DataType):
    """`ARRAY<element>`."""

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        _expect_type(element_type, "element_type")
        super().__init__(nullable)
        self.element_type = element_type

    def _identity(self) -> tuple[Any, ...]:
        return self.element_type, self._nullable


class MultisetType(DataType):
    """`MULTISET<element>`: elements and how often each occurs."""

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        _expect_type(element_type, "element_type")
        super().__init__(nullable)
        self.element_type = element_type

    def _identity(self) -> tuple[Any, ...]:
        return self.element_type, self._nullable


class MapType(DataType):
    """`MAP<key, value>`."""

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        _expect_type(key_type, "key_type")
        _expect_type(value_type, "value_type")
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def _identity(self) -> tuple[Any, ...]:
        return self.key_type, self.value_type, self._nullable


class ListViewType(DataType):
    """The type of a `ListView` in an accumulator."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__(True)
        self._element_type = element_type

    def _identity(self) -> tuple[Any, ...]:
        return (self._element_type,)


class MapViewType(DataType):
    """The type of a `MapView` in an accumulator."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(True)
        self._key_type = key_type
        self._value_type = value_type

    def _identity(self) -> tuple[Any, ...]:
        return self._key_type, self._value_type


class RowField:
    """A field of a row type: name, type and an optional description."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"A field's name must be a string, found {name!r}")
        _expect_type(data_type, "data_type")
        self.name = name
        self.data_type = data_type
        self.description = "..." if description is None else description

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def _identity(self) -> tuple[Any, ...]:
        return self.name, self.data_type, self.description

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description})"


class RowType(DataType):
    """`ROW<name type, ...>`.

    Attributes:
        fields: The fields in order.
        names: Their names.
    """

    def __init__(self, fields: Sequence[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or ())
        self.names = [field.name for field in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Append a field and return this very type.

        Args:
            field: A field, or the name of one.
            data_type: Its type where `field` is a name.
        """
        if not isinstance(field, RowField):
            if data_type is None:
                raise ValueError("Must specify DataType if passing name of row_field to create.")
            field = RowField(field, data_type)
        self.fields.append(field)
        self.names.append(field.name)
        return self

    def field_names(self) -> list[str]:
        """Return the names of the fields."""
        return list(self.names)

    def field_types(self) -> list[DataType]:
        """Return the types of the fields."""
        return [field.data_type for field in self.fields]

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: str | int | slice) -> RowField | RowType:
        """Return a field by name or index, or the row type of a slice."""
        if isinstance(key, str):
            if key not in self.names:
                raise KeyError(f"No RowField named {key}")
            return self.fields[self.names.index(key)]
        if isinstance(key, slice):
            return RowType(self.fields[key])
        return self.fields[key]

    def _identity(self) -> tuple[Any, ...]:
        return tuple(self.fields), self._nullable

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"


class RawType(DataType):
    """A value that only user code understands."""


class UserDefinedType(DataType):
    """Base of types that a program defines over one of the SQL types."""

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the class."""
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """Return the SQL type that holds the values."""
        raise NotImplementedError("UDT must implement sql_type().")

    @classmethod
    def module(cls) -> str:
        """Return the Python module of the type."""
        raise NotImplementedError("UDT must implement module().")

    @classmethod
    def java_udt(cls) -> str:
        """Return the class name of the paired Java type."""
        return ""

    def serialize(self, obj: Any) -> Any:
        """Convert a value of the program to one of `sql_type()`."""
        raise NotImplementedError("UDT must implement serialize().")

    def deserialize(self, datum: Any) -> Any:
        """Convert a value of `sql_type()` to one of the program."""
        raise NotImplementedError("UDT must implement deserialize().")


def _expect_type(value: object, name: str) -> None:
    if not isinstance(value, DataType):
        raise TypeError(f"{name} should be an instance of DataType, found {value!r}")
