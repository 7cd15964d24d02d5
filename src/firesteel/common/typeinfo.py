"""Types of records and state: `Types` and the `TypeInformation` classes (module as `pyflink.common.typeinfo`).

`to_internal_type` gives the plain value that a type is written as (days for a date, a tuple for a Row),
`from_internal_type` the way back. What a declared type does to the records that pass is `firesteel.common.coercion`.
"""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from firesteel.common.java_objects import WithoutJava
from firesteel.common.time import Instant
from firesteel.common.types import Row

__all__ = ["TypeInformation", "Types"]


class TypeInformation(WithoutJava):
    """What Flink has to know of a value's type. Immutable: it may be shared, captured and pickled anywhere."""

    _conversion = False

    def __init__(self) -> None:
        pass

    def need_conversion(self) -> bool:
        """True if the internal form differs from the Python object."""
        return self._conversion

    def to_internal_type(self, obj: Any) -> Any:
        """The plain value that `obj` is written as."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The Python object that the plain value `obj` stands for."""
        return obj

    def _parts(self) -> tuple[Any, ...]:
        return tuple(self.__dict__.values())

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(type(self).__name__)  # equal types may differ in their text: names of fields don't count

    def __repr__(self) -> str:
        return type(self).__name__


class BasicType(Enum):
    """The scalar types."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation):
    """A scalar type."""

    def __init__(self, basic_type: BasicType) -> None:
        super().__init__()
        self._basic_type = basic_type

    @property
    def basic_type(self) -> BasicType:
        """Which scalar."""
        return self._basic_type

    def __repr__(self) -> str:
        return self._basic_type.value

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """A `str`."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """A `bool`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """An `int` that wraps at 8 bits."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """An `int` that wraps at 16 bits."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """An `int` that wraps at 32 bits."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """An `int` that wraps at 64 bits."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """A `float` rounded to 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """A `float`."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """A `str` of length 1."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """An `int` of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """A `decimal.Decimal`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        """An `Instant`."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """An `Instant`; internally nanoseconds since the epoch."""

    _conversion = True

    def to_internal_type(self, obj: Any) -> Any:
        return None if obj is None else obj.seconds * 1_000_000_000 + obj.nanos

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else Instant(*divmod(obj, 1_000_000_000))


class SqlTimeTypeInfo(TypeInformation):
    """Factory of the three `java.sql` time types."""

    _conversion = True

    @staticmethod
    def DATE() -> TypeInformation:
        """A `datetime.date`."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TypeInformation:
        """A `datetime.time`."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TypeInformation:
        """A `datetime.datetime`."""
        return TimestampTypeInfo()


class DateTypeInfo(TypeInformation):
    """A `datetime.date`; internally days since the epoch."""

    _conversion = True
    EPOCH_ORDINAL = datetime.datetime(1970, 1, 1).toordinal()

    def to_internal_type(self, d: Any) -> Any:
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, v: Any) -> Any:
        return None if v is None else datetime.date.fromordinal(v + self.EPOCH_ORDINAL)


class TimeTypeInfo(TypeInformation):
    """A `datetime.time`; internally microseconds since midnight UTC."""

    _conversion = True
    EPOCH_ORDINAL = 0

    def to_internal_type(self, t: Any) -> Any:
        if t is None:
            return None
        offset = t.utcoffset() or datetime.timedelta()
        minutes = t.hour * 60 + t.minute
        return minutes * 60 * 10**6 + t.second * 10**6 + t.microsecond - offset // datetime.timedelta(microseconds=1)

    def from_internal_type(self, t: Any) -> Any:
        if t is None:
            return None
        seconds, micros = divmod(t, 10**6)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        return datetime.time(hour, minute, second, micros)


class TimestampTypeInfo(TypeInformation):
    """A `datetime.datetime`; internally microseconds since the epoch (without time zone: as if UTC)."""

    _conversion = True

    def to_internal_type(self, dt: Any) -> Any:
        return None if dt is None else calendar.timegm(dt.utctimetuple()) * 10**6 + dt.microsecond

    def from_internal_type(self, ts: Any) -> Any:
        return None if ts is None else datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=ts)


class LocalTimeTypeInfo(TypeInformation):
    """A `java.time` local date, time or date-time."""

    class TimeType(Enum):
        """Which of the three."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    _conversion = True

    def __init__(self, time_type: LocalTimeTypeInfo.TimeType) -> None:
        super().__init__()
        self._time_type = time_type

    @property
    def time_type(self) -> LocalTimeTypeInfo.TimeType:
        """Which of the three."""
        return self._time_type

    def _plain(self) -> TypeInformation:
        return (DateTypeInfo(), TimeTypeInfo(), TimestampTypeInfo())[self._time_type.value]

    def to_internal_type(self, obj: Any) -> Any:
        return self._plain().to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        return self._plain().from_internal_type(obj)

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo({self._time_type.name})"


class _ElementTypeInfo(TypeInformation):
    def __init__(self, element_type: TypeInformation) -> None:
        super().__init__()
        self._element_type = element_type

    @property
    def element_type(self) -> TypeInformation:
        """Type of the elements."""
        return self._element_type

    def need_conversion(self) -> bool:
        return self._element_type.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        return _each(self._element_type, self._element_type.to_internal_type, obj)

    def from_internal_type(self, obj: Any) -> Any:
        return _each(self._element_type, self._element_type.from_internal_type, obj)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"


def _each(element_type: TypeInformation, convert: Callable[[Any], Any], values: Any) -> Any:
    return [convert(value) for value in values] if values is not None and element_type.need_conversion() else values


class PrimitiveArrayTypeInfo(_ElementTypeInfo):
    """A Java array of primitives; of `BYTE` it is `bytes`, otherwise a list."""


class BasicArrayTypeInfo(_ElementTypeInfo):
    """A Java array of boxed scalars or strings: a list."""


class ObjectArrayTypeInfo(_ElementTypeInfo):
    """A Java array of any objects: a list."""


class ListTypeInfo(_ElementTypeInfo):
    """A list."""

    @property
    def elem_type(self) -> TypeInformation:
        """Type of the elements."""
        return self._element_type


class PickledBytesTypeInfo(TypeInformation):
    """Any Python object, pickled; the type of everything that declares none."""

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"


class TupleTypeInfo(TypeInformation):
    """A tuple with a type per position."""

    def __init__(self, field_types: list[TypeInformation]) -> None:
        super().__init__()
        self._field_types = list(field_types)

    def get_field_types(self) -> list[TypeInformation]:
        """Types of the fields, in order."""
        return self._field_types

    def need_conversion(self) -> bool:
        return any(field.need_conversion() for field in self._field_types)

    def to_internal_type(self, obj: Any) -> Any:
        pairs = zip(self._field_types, obj or (), strict=False)
        return None if obj is None else tuple(field.to_internal_type(value) for field, value in pairs)

    def from_internal_type(self, obj: Any) -> Any:
        pairs = zip(self._field_types, obj or (), strict=False)
        return None if obj is None else tuple(field.from_internal_type(value) for field, value in pairs)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self._field_types))})"


class RowTypeInfo(TypeInformation):
    """A `Row` with a name and a type per field.

    Attributes:
        named: False if the names are only the default ones `f0`, `f1` ...
    """

    _conversion = True

    def __init__(self, field_types: list[TypeInformation], field_names: list[str] | None = None) -> None:
        super().__init__()
        self._field_types = list(field_types)
        self._field_names = list(field_names) if field_names else [f"f{i}" for i in range(len(field_types))]
        self.named = bool(field_names)
        if len(self._field_names) != len(self._field_types):
            found = f"{len(self._field_names)} names {self._field_names} for {len(self._field_types)} types"
            raise ValueError(f"A row type needs one name per field, found {found}")

    def get_field_names(self) -> list[str]:
        """Names of the fields, in order."""
        return self._field_names

    def get_field_index(self, field_name: str) -> int:
        """Position of that field, -1 if there is none."""
        return self._field_names.index(field_name) if field_name in self._field_names else -1

    def get_field_types(self) -> list[TypeInformation]:
        """Types of the fields, in order."""
        return self._field_types

    def to_internal_type(self, obj: Any) -> Any:
        if obj is None:
            return None
        if isinstance(obj, dict):
            values: Sequence[Any] = [obj.get(name) for name in self._field_names]
        else:
            values = obj.get_fields_by_names(self._field_names) if isinstance(obj, Row) and self.named else list(obj)
        return tuple(field.to_internal_type(value) for field, value in zip(self._field_types, values, strict=False))

    def from_internal_type(self, obj: Any) -> Any:
        if obj is None or isinstance(obj, Row):
            return obj
        row = Row(*[field.from_internal_type(value) for field, value in zip(self._field_types, obj, strict=False)])
        row.set_field_names(self._field_names)
        return row

    def _parts(self) -> tuple[Any, ...]:
        """The types only: rows are of the same type whatever their fields are called, as in Flink."""
        return (self._field_types,)

    def __repr__(self) -> str:
        fields = zip(self._field_names, self._field_types, strict=True)
        return (
            f"RowTypeInfo({', '.join(f'{name}: {field!r}' if self.named else repr(field) for name, field in fields)})"
        )


class MapTypeInfo(TypeInformation):
    """A dict."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__()
        self._key_type_info = key_type_info
        self._value_type_info = value_type_info

    @property
    def key_type(self) -> TypeInformation:
        """Type of the keys."""
        return self._key_type_info

    @property
    def value_type(self) -> TypeInformation:
        """Type of the values."""
        return self._value_type_info

    def need_conversion(self) -> bool:
        return self._key_type_info.need_conversion() or self._value_type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        key, value = self._key_type_info.to_internal_type, self._value_type_info.to_internal_type
        return {key(k): value(v) for k, v in obj.items()} if obj is not None and self.need_conversion() else obj

    def from_internal_type(self, obj: Any) -> Any:
        key, value = self._key_type_info.from_internal_type, self._value_type_info.from_internal_type
        return {key(k): value(v) for k, v in obj.items()} if obj is not None and self.need_conversion() else obj

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"


class ExternalTypeInfo(TypeInformation):
    """A type as it looks outside of SQL; for records the same as the type within."""

    def __init__(self, type_info: TypeInformation) -> None:
        super().__init__()
        self._type_info = type_info

    @property
    def type_info(self) -> TypeInformation:
        """The type within."""
        return self._type_info

    def need_conversion(self) -> bool:
        return self._type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        return self._type_info.to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        return self._type_info.from_internal_type(obj)

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info}>"


class Types:
    """Every `TypeInformation` there is.

    Example:
        >>> Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
        RowTypeInfo(name: String, age: Integer)
    """

    STRING = BasicTypeInfo.STRING_TYPE_INFO
    BYTE = BasicTypeInfo.BYTE_TYPE_INFO
    BOOLEAN = BasicTypeInfo.BOOLEAN_TYPE_INFO
    SHORT = BasicTypeInfo.SHORT_TYPE_INFO
    INT = BasicTypeInfo.INT_TYPE_INFO
    LONG = BasicTypeInfo.LONG_TYPE_INFO
    FLOAT = BasicTypeInfo.FLOAT_TYPE_INFO
    DOUBLE = BasicTypeInfo.DOUBLE_TYPE_INFO
    CHAR = BasicTypeInfo.CHAR_TYPE_INFO
    BIG_INT = BasicTypeInfo.BIG_INT_TYPE_INFO
    BIG_DEC = BasicTypeInfo.BIG_DEC_TYPE_INFO
    INSTANT = BasicTypeInfo.INSTANT_TYPE_INFO
    SQL_DATE = SqlTimeTypeInfo.DATE
    SQL_TIME = SqlTimeTypeInfo.TIME
    SQL_TIMESTAMP = SqlTimeTypeInfo.TIMESTAMP

    @staticmethod
    def PICKLED_BYTE_ARRAY() -> TypeInformation:
        """Any Python object."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: list[TypeInformation]) -> RowTypeInfo:
        """A `Row`; its fields are named `f0`, `f1` ..."""
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: list[str], field_types: list[TypeInformation]) -> RowTypeInfo:
        """A `Row` with named fields."""
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: list[TypeInformation]) -> TupleTypeInfo:
        """A tuple."""
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A Java array of primitives: `bytes` of `BYTE`, otherwise a list.

        Raises:
            TypeError: `element_type` is no primitive.
        """
        return PrimitiveArrayTypeInfo(_scalar_element(element_type, _PRIMITIVES, "PRIMITIVE_ARRAY"))

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A Java array of boxed scalars or strings: a list.

        Raises:
            TypeError: `element_type` is no scalar.
        """
        return BasicArrayTypeInfo(_scalar_element(element_type, frozenset(BasicType), "BASIC_ARRAY"))

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation) -> TypeInformation:
        """A Java array of any objects: a list."""
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation, value_type_info: TypeInformation) -> TypeInformation:
        """A dict."""
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation) -> TypeInformation:
        """A list."""
        return ListTypeInfo(element_type_info)


_PRIMITIVES = frozenset(BasicType) - {BasicType.STRING, BasicType.BIG_INT, BasicType.BIG_DEC, BasicType.INSTANT}


def _scalar_element(element_type: TypeInformation, allowed: frozenset[BasicType], array: str) -> TypeInformation:
    if not isinstance(element_type, BasicTypeInfo) or element_type.basic_type not in allowed:
        names = ", ".join(sorted(basic.name for basic in allowed))
        raise TypeError(f"{array} takes elements of {names}; found {element_type!r}")
    return element_type
