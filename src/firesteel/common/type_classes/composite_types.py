"""Composite types: re-exported by `firesteel.common.typeinfo`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from firesteel.common.type_classes.type_information import TypeInformation, checked_type
from firesteel.common.types import Row

T = TypeVar("T", contravariant=True)
K = TypeVar("K")
V = TypeVar("V")


class ElementTypeInfo(TypeInformation[T]):
    """The type of a list or Java array whose elements have one type.

    Base class of the array and list types. `Types.LIST` and the array methods of `Types` create its subclasses.

    Args:
        element_type: Type of every element.
    """

    def __init__(self, element_type: TypeInformation[Any]) -> None:
        super().__init__()
        self._element_type = checked_type(element_type)

    @property
    def element_type(self) -> TypeInformation[Any]:
        """Type of the elements."""
        return self._element_type

    def need_conversion(self) -> bool:
        """Return whether the internal form differs from the Python object."""
        return self._element_type.need_conversion()

    def to_internal_type(self, obj: object) -> Any:
        """Return the internal form of a value."""
        return _each(self._element_type, self._element_type.to_internal_type, obj)

    def from_internal_type(self, obj: object) -> Any:
        """Return the value of an internal form."""
        return _each(self._element_type, self._element_type.from_internal_type, obj)

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{self._element_type}>"


def _each(element_type: TypeInformation[Any], convert: Callable[[Any], Any], values: Any) -> Any:
    return [convert(value) for value in values] if values is not None and element_type.need_conversion() else values


class PrimitiveArrayTypeInfo(ElementTypeInfo[Any]):
    """The type of a Java array of primitives: `bytes` for `BYTE`, otherwise a list."""


class BasicArrayTypeInfo(ElementTypeInfo[list[V]]):
    """The type of a Java array of boxed scalars or strings: a list."""


class ObjectArrayTypeInfo(ElementTypeInfo[list[V]]):
    """The type of a Java array of any objects: a list."""


class ListTypeInfo(ElementTypeInfo[list[V]]):
    """The type of a list."""

    @property
    def elem_type(self) -> TypeInformation[object]:
        """Type of the elements."""
        return self._element_type


class TupleTypeInfo(TypeInformation[tuple[Any, ...]]):
    """The type of a tuple, with a type for each position.

    Args:
        field_types: Types of the fields in order; usually passed to `Types.TUPLE`.
    """

    def __init__(self, field_types: Sequence[TypeInformation[Any]]) -> None:
        super().__init__()
        self._field_types = [checked_type(field) for field in field_types]

    def get_field_types(self) -> list[TypeInformation[Any]]:
        """Return the types of the fields, in order."""
        return self._field_types

    def need_conversion(self) -> bool:
        """Return whether the internal form differs from the Python object."""
        return any(field.need_conversion() for field in self._field_types)

    def to_internal_type(self, obj: Any) -> Any:
        """Return the internal form of a value."""
        pairs = zip(self._field_types, obj or (), strict=False)
        return None if obj is None else tuple(field.to_internal_type(value) for field, value in pairs)

    def from_internal_type(self, obj: Any) -> Any:
        """Return the value of an internal form."""
        pairs = zip(self._field_types, obj or (), strict=False)
        return None if obj is None else tuple(field.from_internal_type(value) for field, value in pairs)

    def __repr__(self) -> str:
        return f"TupleTypeInfo({', '.join(map(repr, self._field_types))})"


class RowTypeInfo(TypeInformation[Row]):
    """The type of a `Row`, with a name and a type for each field.

    Attributes:
        named: False if the field names are the default ones `f0`, `f1` ...
    """

    _conversion = True

    def __init__(self, field_types: Sequence[TypeInformation[Any]], field_names: Sequence[str] | None = None) -> None:
        super().__init__()
        self._field_types = [checked_type(field) for field in field_types]
        self._field_names = list(field_names) if field_names else [f"f{i}" for i in range(len(field_types))]
        self.named = bool(field_names)
        if len(self._field_names) != len(self._field_types):
            found = f"{len(self._field_names)} names {self._field_names} for {len(self._field_types)} types"
            raise ValueError(f"A row type needs one name per field, found {found}")

    def get_field_names(self) -> list[str]:
        """Return the names of the fields, in order."""
        return self._field_names

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field, or -1 if there is no such field."""
        return self._field_names.index(field_name) if field_name in self._field_names else -1

    def get_field_types(self) -> list[TypeInformation[Any]]:
        """Return the types of the fields, in order."""
        return self._field_types

    def to_internal_type(self, obj: Any) -> Any:
        """Return the internal form of a value."""
        if obj is None:
            return None
        if isinstance(obj, dict):
            values: Sequence[Any] = [obj.get(name) for name in self._field_names]
        else:
            values = obj.get_fields_by_names(self._field_names) if isinstance(obj, Row) and self.named else list(obj)
        return tuple(field.to_internal_type(value) for field, value in zip(self._field_types, values, strict=False))

    def from_internal_type(self, obj: Any) -> Any:
        """Return the value of an internal form."""
        if obj is None or isinstance(obj, Row):
            return obj
        row = Row(*[field.from_internal_type(value) for field, value in zip(self._field_types, obj, strict=False)])
        row.set_field_names(self._field_names)
        return row

    def _parts(self) -> tuple[Any, ...]:
        """Return the field types only: as in Flink, the names do not affect equality."""
        return (self._field_types,)

    def __repr__(self) -> str:
        fields = zip(self._field_names, self._field_types, strict=True)
        return (
            f"RowTypeInfo({', '.join(f'{name}: {field!r}' if self.named else repr(field) for name, field in fields)})"
        )


class MapTypeInfo(TypeInformation[dict[K, V]]):
    """The type of a dict.

    Args:
        key_type_info: Type of the keys, whose values must be hashable in Python.
        value_type_info: Any type, also of a list or another map.
    """

    def __init__(self, key_type_info: TypeInformation[K], value_type_info: TypeInformation[V]) -> None:
        super().__init__()
        self._key_type_info = checked_type(key_type_info)
        self._value_type_info = checked_type(value_type_info)

    @property
    def key_type(self) -> TypeInformation[K]:
        """Type of the keys."""
        return self._key_type_info

    @property
    def value_type(self) -> TypeInformation[V]:
        """Type of the values."""
        return self._value_type_info

    def need_conversion(self) -> bool:
        """Return whether the internal form differs from the Python object."""
        return self._key_type_info.need_conversion() or self._value_type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Return the internal form of a value."""
        key, value = self._key_type_info.to_internal_type, self._value_type_info.to_internal_type
        return {key(k): value(v) for k, v in obj.items()} if obj is not None and self.need_conversion() else obj

    def from_internal_type(self, obj: Any) -> Any:
        """Return the value of an internal form."""
        key, value = self._key_type_info.from_internal_type, self._value_type_info.from_internal_type
        return {key(k): value(v) for k, v in obj.items()} if obj is not None and self.need_conversion() else obj

    def __repr__(self) -> str:
        return f"MapTypeInfo<{self._key_type_info}, {self._value_type_info}>"


class ExternalTypeInfo(TypeInformation[T]):
    """A wrapper of a type at the boundary of SQL; records are the same as of the wrapped type.

    Args:
        type_info: The type to wrap, which also converts the values.
    """

    def __init__(self, type_info: TypeInformation[T]) -> None:
        super().__init__()
        self._type_info = checked_type(type_info)

    @property
    def type_info(self) -> TypeInformation[T]:
        """The wrapped type."""
        return self._type_info

    def need_conversion(self) -> bool:
        """Return whether the internal form differs from the Python object."""
        return self._type_info.need_conversion()

    def to_internal_type(self, obj: object) -> Any:
        """Return the internal form of a value."""
        return self._type_info.to_internal_type(obj)

    def from_internal_type(self, obj: object) -> Any:
        """Return the value of an internal form."""
        return self._type_info.from_internal_type(obj)

    def __repr__(self) -> str:
        return f"ExternalTypeInfo<{self._type_info}>"
