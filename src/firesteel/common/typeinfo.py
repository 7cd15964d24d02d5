"""Types of records and state: `Types` and the `TypeInformation` classes (module as `pyflink.common.typeinfo`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from firesteel.common.type_classes.basic_types import BasicType, BasicTypeInfo, InstantTypeInfo
from firesteel.common.type_classes.composite_types import (
    BasicArrayTypeInfo,
    ElementTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from firesteel.common.type_classes.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from firesteel.common.type_classes.type_information import MAKERS, PickledBytesTypeInfo, TypeInformation

__all__ = [
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "ElementTypeInfo",
    "ExternalTypeInfo",
    "InstantTypeInfo",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
]


T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class Types:
    """Factory of all types.

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
    def PICKLED_BYTE_ARRAY() -> TypeInformation[Any]:
        """Return the type of pickled Python objects."""
        return PickledBytesTypeInfo()

    @staticmethod
    def ROW(field_types: Sequence[TypeInformation[Any]]) -> RowTypeInfo:
        """Return the type of a `Row` with the field names `f0`, `f1` ...

        Args:
            field_types: Types of the fields.
        """
        return RowTypeInfo(field_types)

    @staticmethod
    def ROW_NAMED(field_names: Sequence[str], field_types: Sequence[TypeInformation[Any]]) -> RowTypeInfo:
        """Return the type of a `Row` with named fields.

        Args:
            field_names: One name for each type; an empty list gives the names `f0`, `f1`, ...
            field_types: Types of the fields, in the same order.

        Raises:
            ValueError: the numbers of names and of types differ.
        """
        return RowTypeInfo(field_types, field_names)

    @staticmethod
    def TUPLE(field_types: Sequence[TypeInformation[Any]]) -> TupleTypeInfo:
        """Return the type of a tuple.

        Args:
            field_types: Types of the fields, in order.
        """
        return TupleTypeInfo(field_types)

    @staticmethod
    def PRIMITIVE_ARRAY(element_type: TypeInformation[Any]) -> PrimitiveArrayTypeInfo:
        """Return the type of a Java array of primitives: `bytes` for `BYTE`, otherwise a list.

        Args:
            element_type: BOOLEAN, BYTE, CHAR, SHORT, INT, LONG, FLOAT or DOUBLE of `Types`.

        Raises:
            TypeError: `element_type` is not a primitive type.
        """
        return PrimitiveArrayTypeInfo(_scalar_element(element_type, _PRIMITIVES, "PRIMITIVE_ARRAY"))

    @staticmethod
    def BASIC_ARRAY(element_type: TypeInformation[T]) -> BasicArrayTypeInfo[T]:
        """Return the type of a Java array of boxed scalars or strings: a list.

        Args:
            element_type: A scalar type of `Types`: a number, boolean, character, string or instant.

        Raises:
            TypeError: `element_type` is not a scalar type.
        """
        return BasicArrayTypeInfo(_scalar_element(element_type, frozenset(BasicType), "BASIC_ARRAY"))

    @staticmethod
    def OBJECT_ARRAY(element_type: TypeInformation[T]) -> ObjectArrayTypeInfo[T]:
        """Return the type of a Java array of any objects: a list.

        Args:
            element_type: Type of all elements; any type.
        """
        return ObjectArrayTypeInfo(element_type)

    @staticmethod
    def MAP(key_type_info: TypeInformation[K], value_type_info: TypeInformation[V]) -> MapTypeInfo[K, V]:
        """Return the type of a dict.

        Args:
            key_type_info: Type of all keys.
            value_type_info: Type of all values.
        """
        return MapTypeInfo(key_type_info, value_type_info)

    @staticmethod
    def LIST(element_type_info: TypeInformation[T]) -> ListTypeInfo[T]:
        """Return the type of a list.

        Args:
            element_type_info: Type of all elements.
        """
        return ListTypeInfo(element_type_info)


_PRIMITIVES = frozenset(BasicType) - {BasicType.STRING, BasicType.BIG_INT, BasicType.BIG_DEC, BasicType.INSTANT}


def _scalar_element(element_type: TypeInformation[T], allowed: frozenset[BasicType], array: str) -> TypeInformation[T]:
    if not isinstance(element_type, BasicTypeInfo) or element_type.basic_type not in allowed:
        names = ", ".join(sorted(basic.name for basic in allowed))
        raise TypeError(f"{array} takes elements of {names}; found {element_type!r}")
    return element_type


MAKERS.update((id(getattr(Types, name)), name) for name in vars(Types) if not name.startswith("_"))
