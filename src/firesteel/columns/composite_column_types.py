"""Types composed of other types, and types whose values only user code understands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from firesteel.columns.data_type import DataType, expect_type
from firesteel.common.types import Row


class _TypeOfElements(DataType):
    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        expect_type(element_type, "element_type")
        super().__init__(nullable)
        self.element_type = element_type

    def _identity(self) -> tuple[object, ...]:
        return self.element_type, self._nullable

    def need_conversion(self) -> bool:
        """Return whether the elements need a conversion."""
        return self.element_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """Return the elements in their internal form."""
        return obj and [self.element_type.to_sql_type(value) for value in obj]

    def from_sql_type(self, obj: Any) -> Any:
        """Return the Python elements of a value in internal form."""
        return obj and [self.element_type.from_sql_type(value) for value in obj]


class ArrayType(_TypeOfElements):
    """`ARRAY<element>`."""


class MultisetType(_TypeOfElements):
    """`MULTISET<element>`: elements and their number of occurrences."""


class MapType(DataType):
    """`MAP<key, value>`."""

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        expect_type(key_type, "key_type")
        expect_type(value_type, "value_type")
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def _identity(self) -> tuple[object, ...]:
        return self.key_type, self.value_type, self._nullable

    def need_conversion(self) -> bool:
        """Return whether keys or values need a conversion."""
        return self.key_type.need_conversion() or self.value_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """Return keys and values in their internal form."""
        key, value = self.key_type.to_sql_type, self.value_type.to_sql_type
        return obj and {key(k): value(v) for k, v in obj.items()}

    def from_sql_type(self, obj: Any) -> Any:
        """Return the Python keys and values of a map in internal form."""
        key, value = self.key_type.from_sql_type, self.value_type.from_sql_type
        return obj and {key(k): value(v) for k, v in obj.items()}


class ListViewType(DataType):
    """The type of a `ListView` in an accumulator."""

    def __init__(self, element_type: DataType) -> None:
        super().__init__(True)
        self._element_type = element_type

    def _identity(self) -> tuple[object, ...]:
        return (self._element_type,)


class MapViewType(DataType):
    """The type of a `MapView` in an accumulator."""

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(True)
        self._key_type = key_type
        self._value_type = value_type

    def _identity(self) -> tuple[object, ...]:
        return self._key_type, self._value_type


class RowField:
    """A field of a row type: name, type and an optional description."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(name, str):
            raise TypeError(f"A field's name must be a string, found {name!r}")
        expect_type(data_type, "data_type")
        self.name = name
        self.data_type = data_type
        self.description = "..." if description is None else description

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def need_conversion(self) -> bool:
        """Return whether values of the field need a conversion."""
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: object) -> Any:
        """Return a value of the field in its internal form."""
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: object) -> Any:
        """Return the Python value of a field in internal form."""
        return self.data_type.from_sql_type(obj)

    def _identity(self) -> tuple[object, ...]:
        return self.name, self.data_type, self.description

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description})"


class RowType(DataType):
    """`ROW<name type, ...>`.

    Attributes:
        fields: The fields in order.
        names: The names of the fields, in the same order.
    """

    def __init__(self, fields: Sequence[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or ())
        self.names = [field.name for field in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Append a field to this type, in place, and return it.

        Args:
            field: A field, or the name of a field.
            data_type: The type of the field, required if `field` is a name.
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

    def need_conversion(self) -> bool:
        """Return True, because rows become tuples."""
        return True

    def to_sql_type(self, obj: object) -> Any:
        """Return a row, tuple, list or dict as a tuple of field values in internal form."""
        if obj is None:
            return None
        if isinstance(obj, dict):
            items: list[Any] = [obj.get(name) for name in self.names]
        elif isinstance(obj, Row):
            items = obj.get_fields_by_names(self.names) if len(obj) == len(self.names) else list(obj)
        else:
            items = list(obj) if isinstance(obj, (tuple, list)) else [getattr(obj, name) for name in self.names]
        return tuple(field.to_sql_type(item) for field, item in zip(self.fields, items, strict=True))

    def from_sql_type(self, obj: Any) -> Any:
        """Return the `Row` of a tuple in internal form."""
        if obj is None or isinstance(obj, Row):
            return obj
        row = Row(*[field.from_sql_type(item) for field, item in zip(self.fields, obj, strict=True)])
        row.set_field_names(self.names)
        return row

    def _identity(self) -> tuple[object, ...]:
        return tuple(self.fields), self._nullable

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self.fields))})"


class RawType(DataType):
    """The type of a value that only user code understands."""


class UserDefinedType(DataType):
    """Base of types that a program defines on top of an SQL type.

    Example:
        >>> class Celsius(UserDefinedType):
        ...     @classmethod
        ...     def sql_type(cls):
        ...         return DataTypes.DOUBLE()
        ...     @classmethod
        ...     def module(cls):
        ...         return "weather"
        ...     def serialize(self, obj):
        ...         return obj.degrees
        >>> Celsius.type_name(), Celsius.sql_type() == DataTypes.DOUBLE()
        ('celsius', True)
    """

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

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def to_sql_type(self, obj: object) -> Any:
        """Convert a value of the program to its representation as `sql_type()`."""
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: object) -> Any:
        """Convert a value of `sql_type()` to the value that the program sees."""
        return None if obj is None else self.deserialize(self.sql_type().from_sql_type(obj))

    def serialize(self, obj: object) -> object:
        """Convert a value of the program to one of `sql_type()`.

        Args:
            obj: A value of the program, never None.
        """
        raise NotImplementedError("UDT must implement serialize().")

    def deserialize(self, datum: object) -> Any:
        """Convert a value of `sql_type()` to one of the program.

        Args:
            datum: A value of `sql_type()`, never None.
        """
        raise NotImplementedError("UDT must implement deserialize().")
