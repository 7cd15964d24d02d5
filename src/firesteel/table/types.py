"""Data types of tables (module as `pyflink.table.types`), and the types of plain Python values."""

from __future__ import annotations

from firesteel.columns.column_types import MAX_LENGTH

# isort: off
# Public by name, though a star import leaves them out.
from firesteel.columns.column_types import (
    ArrayType as ArrayType,
    AtomicType as AtomicType,
    BigIntType as BigIntType,
    BinaryType as BinaryType,
    BooleanType as BooleanType,
    CharType as CharType,
    DataType as DataType,
    DateType as DateType,
    DayTimeIntervalType as DayTimeIntervalType,
    DecimalType as DecimalType,
    DoubleType as DoubleType,
    FloatType as FloatType,
    FractionalType as FractionalType,
    IntType as IntType,
    IntegralType as IntegralType,
    ListViewType as ListViewType,
    LocalZonedTimestampType as LocalZonedTimestampType,
    MapType as MapType,
    MapViewType as MapViewType,
    MultisetType as MultisetType,
    NullType as NullType,
    NumericType as NumericType,
    RawType as RawType,
    Resolution as Resolution,
    RowField as RowField,
    RowType as RowType,
    SmallIntType as SmallIntType,
    TimeType as TimeType,
    TimestampType as TimestampType,
    TinyIntType as TinyIntType,
    UserDefinedType as UserDefinedType,
    VarBinaryType as VarBinaryType,
    VarCharType as VarCharType,
    YearMonthIntervalType as YearMonthIntervalType,
    ZonedTimestampType as ZonedTimestampType,
)

# isort: on
from firesteel.common.types import Row, RowKind

__all__ = ["DataTypes", "Row", "RowKind", "UserDefinedType"]

_Unit = Resolution.IntervalUnit
_DayTime = DayTimeIntervalType.DayTimeResolution
_YearMonth = YearMonthIntervalType.YearMonthResolution


def _length(length: int) -> int:
    if length < 1:  # the types themselves allow 0, which literals such as '' have
        raise ValueError(f"the length of a type must be between 1 and {MAX_LENGTH} (both inclusive), found {length}")
    return length


class DataTypes:
    """Factory of data types (PyFlink: `DataTypes`).

    Example:
        >>> DataTypes.ROW([DataTypes.FIELD("id", DataTypes.BIGINT()), DataTypes.FIELD("name", DataTypes.STRING())])
        RowType(RowField(id, BigIntType(true), ...),RowField(name, VarCharType(2147483647, true), ...))
    """

    @staticmethod
    def NULL() -> NullType:
        """Return the type of an untyped NULL."""
        return NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> CharType:
        """Return the type of strings of a fixed length.

        Args:
            length: Number of characters, 1 to 2147483647.
            nullable: Whether values may be NULL; False declares the type NOT NULL.

        Raises:
            ValueError: `length` is out of range.
        """
        return CharType(_length(length), nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> VarCharType:
        """Return the type of strings up to a length.

        Args:
            length: Maximum number of characters, 1 to 2147483647.
            nullable: Whether values may be NULL; False declares the type NOT NULL.

        Raises:
            ValueError: `length` is out of range.
        """
        return VarCharType(_length(length), nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> VarCharType:
        """Return the type of strings of any length: `VARCHAR(2147483647)`.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return VarCharType(MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> BooleanType:
        """Return the type of TRUE, FALSE and UNKNOWN.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> BinaryType:
        """Return the type of byte strings of a fixed length.

        Args:
            length: Number of bytes, 1 to 2147483647.
            nullable: Whether values may be NULL; False declares the type NOT NULL.

        Raises:
            ValueError: `length` is out of range.
        """
        return BinaryType(_length(length), nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> VarBinaryType:
        """Return the type of byte strings up to a length.

        Args:
            length: Maximum number of bytes, 1 to 2147483647.
            nullable: Whether values may be NULL; False declares the type NOT NULL.

        Raises:
            ValueError: `length` is out of range.
        """
        return VarBinaryType(_length(length), nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> VarBinaryType:
        """Return the type of byte strings of any length: `VARBINARY(2147483647)`.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return VarBinaryType(MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DecimalType:
        """Return the type of decimal numbers.

        Args:
            precision: Total number of digits, 1 to 38.
            scale: Number of digits after the decimal point, 0 to `precision`.
            nullable: Whether values may be NULL; False declares the type NOT NULL.

        Raises:
            ValueError: `precision` or `scale` is out of range.
        """
        return DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> TinyIntType:
        """Return the type of 8-bit integers.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> SmallIntType:
        """Return the type of 16-bit integers.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> IntType:
        """Return the type of 32-bit integers.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> BigIntType:
        """Return the type of 64-bit integers.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> FloatType:
        """Return the type of 32-bit floating point numbers.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DoubleType:
        """Return the type of 64-bit floating point numbers.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DateType:
        """Return the type of dates.

        Args:
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TimeType:
        """Return the type of times of day.

        Args:
            precision: Number of fractional digits of the second, 0 to 9.
            nullable: Whether values may be NULL; False declares the type NOT NULL.

        Raises:
            ValueError: `precision` is out of range.
        """
        return TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TimestampType:
        """Return the type of timestamps without time zone.

        Args:
            precision: Fractional digits of the second (0 to 9). Values hold microseconds, so digits after the sixth are
                lost.
            nullable: Whether NULL is allowed.
        """
        return TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """Return the type of instants, shown in the session's time zone; the same as `TIMESTAMP_LTZ`.

        Args:
            precision: Number of fractional digits of the second, 0 to 9.
            nullable: Whether values may be NULL; False declares the type NOT NULL.

        Raises:
            ValueError: `precision` is out of range.
        """
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """Return the type of instants, shown in the session's time zone.

        Args:
            precision: Fractional digits of the second (0 to 9). Values hold microseconds, so digits after the sixth are
                lost.
            nullable: Whether NULL is allowed.
        """
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> ArrayType:
        """Return the type of arrays.

        Args:
            element_type: Type of all elements.
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> ListViewType:
        """Return the type of a `ListView` in an accumulator.

        Args:
            element_type: Type of all elements.
        """
        return ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> MapType:
        """Return the type of maps.

        Args:
            key_type: Type of all keys.
            value_type: Type of all values.
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> MapViewType:
        """Return the type of a `MapView` in an accumulator.

        Args:
            key_type: Type of all keys.
            value_type: Type of all values.
        """
        return MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> MultisetType:
        """Return the type of multisets.

        Args:
            element_type: Type of the elements, each of which has a number of occurrences.
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        return MultisetType(element_type, nullable)

    @staticmethod
    def ROW(row_fields: list[RowField | DataType] = [], nullable: bool = True) -> RowType:  # noqa: B006
        """Return the type of rows.

        Args:
            row_fields: Fields made by `DataTypes.FIELD`, or types alone, which get the names `f0`, `f1`, ... by
                position.
            nullable: Whether values may be NULL; False declares the type NOT NULL.
        """
        fields = [
            field if isinstance(field, RowField) else RowField(f"f{index}", field)
            for index, field in enumerate(row_fields)
        ]
        return RowType(fields, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """Return a field of a row type, for `ROW`.

        Args:
            name: Its name.
            data_type: Its type.
            description: A comment, which has no effect on the type.
        """
        return RowField(name, data_type, description)

    @staticmethod
    def SECOND(precision: int = DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION) -> Resolution:
        """Return the resolution of seconds for an interval type.

        Args:
            precision: Number of fractional digits, 0 to 9; `INTERVAL` checks the range.
        """
        return Resolution(_Unit.SECOND, precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """Return the resolution of minutes."""
        return Resolution(_Unit.MINUTE)

    @staticmethod
    def HOUR() -> Resolution:
        """Return the resolution of hours."""
        return Resolution(_Unit.HOUR)

    @staticmethod
    def DAY(precision: int = DayTimeIntervalType.DEFAULT_DAY_PRECISION) -> Resolution:
        """Return the resolution of days for an interval type.

        Args:
            precision: Number of digits of the days, 1 to 6; `INTERVAL` checks the range.
        """
        return Resolution(_Unit.DAY, precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Return the resolution of months."""
        return Resolution(_Unit.MONTH)

    @staticmethod
    def YEAR(precision: int = YearMonthIntervalType.DEFAULT_PRECISION) -> Resolution:
        """Return the resolution of years for an interval type.

        Args:
            precision: Number of digits of the years, 1 to 4; `INTERVAL` checks the range.
        """
        return Resolution(_Unit.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> DayTimeIntervalType | YearMonthIntervalType:
        """Return the interval type between two resolutions.

        Args:
            upper_resolution: The larger unit, such as `DataTypes.DAY()`.
            lower_resolution: The smaller unit, such as `DataTypes.SECOND(3)`; by default the same unit.

        Raises:
            ValueError: There is no interval type between these units.
        """
        upper, lower = upper_resolution, lower_resolution
        units = [resolution.unit.name for resolution in (upper, lower) if resolution is not None]
        name = "_TO_".join(units)
        if name in _DayTime.__members__:
            day = upper.precision if upper.unit is _Unit.DAY else DayTimeIntervalType.DEFAULT_DAY_PRECISION
            last = lower or upper
            fraction = last.precision if last.unit is _Unit.SECOND else DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION
            return DayTimeIntervalType(getattr(_DayTime, name), day, fraction)
        if name in ("YEAR", "MONTH", "YEAR_TO_MONTH"):
            digits = upper.precision if upper.unit is _Unit.YEAR else YearMonthIntervalType.DEFAULT_PRECISION
            return YearMonthIntervalType(getattr(_YearMonth, name), digits)
        raise ValueError(
            f"Unsupported interval definition '{name}'. Please check the documentation for supported ones."
        )
