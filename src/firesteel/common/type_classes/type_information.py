"""The base class of types of records and state: re-exported by `firesteel.common.typeinfo`.

`to_internal_type` returns the plain value that a value is written as, such as days for a date or a tuple for a Row.
`from_internal_type` is its inverse. `firesteel.common.values.coercion` converts records to their declared types.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from firesteel.common.java_objects import WithoutJava

T = TypeVar("T", contravariant=True)
V = TypeVar("V")


class TypeInformation(WithoutJava, Generic[T]):
    """The type of a record, key or state value. It is immutable, so it may be shared and pickled.

    To a type checker it accepts values of type `T`. So `TypeInformation[tuple[Any, ...]]` fits a function that returns
    `tuple[str, int]`, and the stream keeps the more precise type of the function.

    Example:
        >>> type_info = Types.TUPLE([Types.STRING(), Types.INT()])
        >>> isinstance(type_info, TypeInformation)
        True
        >>> env.from_collection([("to", 2)], type_info).get_type() == type_info
        True
    """

    _conversion = False

    def __init__(self) -> None:
        pass

    def need_conversion(self) -> bool:
        """Return whether the internal form differs from the Python object."""
        return self._conversion

    def to_internal_type(self, obj: object) -> Any:
        """Return the internal form of a value.

        Args:
            obj: A value of the type, or None.
        """
        return obj

    def from_internal_type(self, obj: object) -> Any:
        """Return the value of an internal form.

        Args:
            obj: A result of `to_internal_type`.
        """
        return obj

    def _parts(self) -> tuple[Any, ...]:
        return tuple(part for name, part in self.__dict__.items() if name != "__orig_class__")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(type(self).__name__)  # not by repr: equal types may differ in field names

    def __repr__(self) -> str:
        return type(self).__name__


MAKERS: dict[int, str] = {}
"""The names of what `Types` has, by id; `Types` itself imports this module."""


_OF_CLASSES = {"str": "STRING", "int": "LONG", "float": "DOUBLE", "bool": "BOOLEAN", "Decimal": "BIG_DEC"}
"""The types that are most often meant by a class of Python's."""


def checked_type(type_info: TypeInformation[V]) -> TypeInformation[V]:
    """Return a type that a program declares.

    Raises:
        TypeError: `type_info` is not a `TypeInformation`, such as `int`, or `Types.INT` without a call.

    Example:
        >>> checked_type("INT")
        Traceback (most recent call last):
        TypeError: a type is declared by Types, e.g. Types.STRING(); found 'INT': write Types.INT()
    """
    if isinstance(type_info, TypeInformation):
        return type_info
    raise TypeError(f"a type is declared by Types, e.g. Types.STRING(); found {_no_type(type_info)}")


def _no_type(given: object) -> str:
    """Return what was given in place of a type, and what may have been meant."""
    if (maker := MAKERS.get(id(given))) is not None:
        return f"Types.{maker} itself: write Types.{maker}()"
    if isinstance(given, type):
        meant = _OF_CLASSES.get(given.__name__)
        return f"the class {given.__name__}" + (f": write Types.{meant}()" if meant else "")
    is_name = isinstance(given, str) and given.upper() in MAKERS.values()
    return f"{given!r}" + (f": write Types.{str(given).upper()}()" if is_name else "")


class PickledBytesTypeInfo(TypeInformation[Any]):
    """The type of pickled Python objects, used where no type is declared."""

    def __repr__(self) -> str:
        return "PickledByteArrayTypeInfo"
