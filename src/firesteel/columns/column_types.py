"""Logical types, with the names, constructors and reprs of `pyflink.table.types`.

Types are values: equal types have equal hashes, and `nullable()`, `not_null()` and `with_kind()` return copies.
Only `RowType.add` changes its object in place, as in PyFlink, where programs build a row type field by field.
"""

from __future__ import annotations

import copy
import datetime
from enum import Enum
from typing import Any, TypeVar

# isort: off
# Re-exported: the logical types of the other modules.
from firesteel.columns.composite_column_types import (
    ArrayType as ArrayType,
    ListViewType as ListViewType,
    MapType as MapType,
    MapViewType as MapViewType,
    MultisetType as MultisetType,
    RawType as RawType,
    RowField as RowField,
    RowType as RowType,
    UserDefinedType as UserDefinedType,
)
from firesteel.columns.data_type import (
    AtomicType as AtomicType,
    DataType as DataType,
)
from firesteel.columns.interval_types import (
    DayTimeIntervalType as DayTimeIntervalType,
    Resolution as Resolution,
    YearMonthIntervalType as YearMonthIntervalType,
)
# isort: on

MAX_LENGTH = 2_147_483_647
MAX_DECIMAL_PRECISION = 38
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


class NullType(AtomicType):
    """The type of an untyped NULL."""

    def __init__(self) -> None:
        super().__init__(True)


class BooleanType(AtomicType):
    """`BOOLEAN`."""


class VariantType(AtomicType):
    """`VARIANT`: a value of JSON."""


class NumericType(AtomicType):
    """Base of the numeric types."""


class IntegralType(NumericType):
    """Base of the integer types."""


class FractionalType(NumericType):
    """Base of the fractional types."""


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

    def _identity(self) -> tuple[object, ...]:
        return self.precision, self.scale, self._nullable


class _LengthType(AtomicType):
    """Base of the types of characters and bytes."""

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        if not 0 <= length <= MAX_LENGTH:
            raise ValueError(f"The length of {self.type_name()} must be between 1 and {MAX_LENGTH}, found {length}")
        super().__init__(nullable)
        self.length = length

    def _identity(self) -> tuple[object, ...]:
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

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def to_sql_type(self, d: Any) -> Any:
        """Return a date as days since the epoch."""
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_sql_type(self, v: Any) -> Any:
        """Return the date of a number of days since the epoch."""
        return None if v is None else datetime.date.fromordinal(v + self.EPOCH_ORDINAL)


class _PrecisionType(AtomicType):
    """Base of the temporal types with fractional seconds."""

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        if not 0 <= precision <= 9:
            raise ValueError(f"The precision of {self.type_name()} must be between 0 and 9, found {precision}")
        super().__init__(nullable)
        self.precision = precision

    def _identity(self) -> tuple[object, ...]:
        return self.precision, self._nullable


class TimeType(_PrecisionType):
    """`TIME(precision)`."""

    EPOCH_ORDINAL = 0

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def to_sql_type(self, t: Any) -> Any:
        """Return a time as microseconds since midnight."""
        if t is None:
            return None
        return (t.hour * 3600 + t.minute * 60 + t.second) * 1_000_000 + t.microsecond

    def from_sql_type(self, t: Any) -> Any:
        """Return the time of a number of microseconds since midnight."""
        return None if t is None else (datetime.datetime.min + datetime.timedelta(microseconds=t)).time()


class TimestampKind(Enum):
    """The role of a timestamp column. Flink: `TimestampKind`.

    Values computed from a time attribute are not time attributes, but Flink still shows them as such in schemas. These
    have the kind `MATERIALIZED`.
    """

    REGULAR = "REGULAR"
    ROWTIME = "ROWTIME"
    PROCTIME = "PROCTIME"
    MATERIALIZED_ROWTIME = "MATERIALIZED_ROWTIME"
    MATERIALIZED_PROCTIME = "MATERIALIZED_PROCTIME"

    @property
    def is_attribute(self) -> bool:
        """Return whether a column of this kind is a time attribute."""
        return self in (TimestampKind.ROWTIME, TimestampKind.PROCTIME)

    @property
    def shown(self) -> str:
        """Return the mark in the text of a type, empty for plain timestamps."""
        name = self.value.removeprefix("MATERIALIZED_")
        return "" if self is TimestampKind.REGULAR else f" *{name}*"


class _TimestampBase(_PrecisionType):
    """Base of the timestamp types that can be time attributes.

    Attributes:
        kind: `ROWTIME` or `PROCTIME` for a time attribute; equality ignores it.
    """

    def __init__(self, precision: int = 6, nullable: bool = True, kind: TimestampKind = TimestampKind.REGULAR) -> None:
        super().__init__(precision, nullable)
        self.kind = kind

    def with_kind(self: TS, kind: TimestampKind) -> TS:
        """Return a copy of the type with this kind; `REGULAR` makes it a plain timestamp."""
        if self.kind is kind:
            return self
        result = copy.copy(self)
        result.kind = kind
        return result

    def materialized(self: TS) -> TS:
        """Return the type of values computed from values of this type."""
        return self.with_kind(TimestampKind[f"MATERIALIZED_{self.kind.name}"]) if self.kind.is_attribute else self


TS = TypeVar("TS", bound=_TimestampBase)


class TimestampType(_TimestampBase):
    """`TIMESTAMP(precision)`: a local time without time zone."""

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def to_sql_type(self, dt: Any) -> Any:
        """Return a datetime as microseconds since the epoch."""
        if dt is None:
            return None
        instant = dt.replace(tzinfo=datetime.UTC) if dt.tzinfo is None else dt
        return (instant - _EPOCH) // datetime.timedelta(microseconds=1)

    def from_sql_type(self, ts: Any) -> Any:
        """Return the datetime of a number of microseconds since the epoch."""
        if ts is None:
            return None
        instant = _EPOCH + datetime.timedelta(microseconds=ts)
        return instant.replace(tzinfo=None)


class LocalZonedTimestampType(_TimestampBase):
    """`TIMESTAMP_LTZ(precision)`: an instant, shown in the session's time zone."""

    EPOCH_ORDINAL = 0

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def to_sql_type(self, dt: Any) -> Any:
        """Return a datetime as microseconds since the epoch; a naive one is in this machine's zone."""
        if dt is None:
            return None
        instant = dt.astimezone(datetime.UTC)
        return (instant - _EPOCH) // datetime.timedelta(microseconds=1) + self.EPOCH_ORDINAL

    def from_sql_type(self, ts: Any) -> Any:
        """Return the datetime of microseconds since the epoch, in this machine's zone."""
        if ts is None:
            return None
        instant = _EPOCH + datetime.timedelta(microseconds=ts)
        return instant.astimezone().replace(tzinfo=None)


def regular(kind: DataType) -> DataType:
    """Return a type; that of a time attribute as a plain timestamp."""
    return kind.with_kind(TimestampKind.REGULAR) if isinstance(kind, _TimestampBase) else kind


class ZonedTimestampType(_PrecisionType):
    """`TIMESTAMP(precision) WITH TIME ZONE`."""

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def to_sql_type(self, dt: Any) -> Any:
        """Return a datetime as microseconds of its local time since the epoch, and its offset in s."""
        if dt is None:
            return None
        zoned = dt.astimezone() if dt.tzinfo is None else dt
        local = zoned.replace(tzinfo=datetime.UTC) - _EPOCH
        return local // datetime.timedelta(microseconds=1), int(zoned.utcoffset().total_seconds())

    def from_sql_type(self, zoned_ts: Any) -> Any:
        """Return the datetime of a pair of local microseconds and an offset in seconds."""
        if zoned_ts is None:
            return None
        local = _EPOCH + datetime.timedelta(microseconds=zoned_ts[0])
        return local.replace(tzinfo=datetime.timezone(datetime.timedelta(seconds=zoned_ts[1])))
