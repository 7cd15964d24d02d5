"""Root of the types of records and state: re-exported by `firesteel.common.typeinfo`.

`to_internal_type` gives the plain value that a type is written as (days for a date, a tuple for a Row),
`from_internal_type` the way back. What a declared type does to the records that pass is `firesteel.common.coercion`.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from firesteel.common.java_objects import WithoutJava

T = TypeVar("T", contravariant=True)


class TypeInformation(WithoutJava, Generic[T]):
    """What Flink has to know of a value's type. Immutable: it may be shared, captured and pickled anywhere.

    To a type checker it takes values of type `T`. So `TypeInformation[tuple[Any, ...]]` fits a function that returns
    `tuple[str, int]`, and the stream keeps the more precise type of the function.
    """

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
        return tuple(part for name, part in self.__dict__.items() if name != "__orig_class__")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(type(self).__name__)  # equal types may differ in their text: names of fields don't count

    def __repr__(self) -> str:
        return type(self).__name__


class PickledBytesTypeInfo(TypeInformation[Any]):
    """Any Python object, pickled; the type of everything that declares none."""

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"
