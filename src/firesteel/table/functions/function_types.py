"""Declared types of user-defined functions."""

from __future__ import annotations

from firesteel.columns.type_text import parse_type
from firesteel.table.types import DataType, RowField, RowType


def as_data_type(declared: object, what: str) -> DataType:
    """Return a type that was given as one or as SQL's text.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(declared, str):
        return parse_type(declared)
    if isinstance(declared, DataType):
        return declared
    raise TypeError(f"Invalid {what}: {what} should be DataType or str but contains {declared!r}")


def parameter_types(declared: object) -> list[DataType] | None:
    """Return the types of arguments, None if any will do.

    Raises:
        TypeError: something is no type.
    """
    if declared is None:
        return None
    items = declared if isinstance(declared, (list, tuple)) else [declared]
    return [as_data_type(item, "input_type") for item in items]


def result_type_of(declared: object) -> DataType:
    """Return the type of a scalar function's result.

    Raises:
        TypeError: there is none, or it is no type.
    """
    if declared is None:
        raise TypeError("Invalid returnType: returnType should be DataType or str but is None")
    return as_data_type(declared, "result_type")


def table_result_type(declared: object) -> RowType:
    """Return the columns of a table function as a row type; unnamed ones are called `f0`, `f1` ...

    Raises:
        TypeError: there is none, or something is no type.
    """
    if declared is None:
        raise TypeError("Invalid result_type: result_type should be DataType or str but is None")
    if isinstance(declared, (list, tuple)):
        types = [as_data_type(item, "result_type") for item in declared]
        return RowType([RowField(f"f{index}", kind) for index, kind in enumerate(types)])
    kind = as_data_type(declared, "result_type")
    return kind if isinstance(kind, RowType) else RowType([RowField("f0", kind)])
