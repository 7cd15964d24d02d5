"""Constructors of arrays, maps and rows, element access, and functions of arrays and maps."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.functions.function import (
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    as_array,
    may_fail,
    per_row,
    plain,
)
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply, wrong_count
from firesteel.columns.functions.nested_equality import comparable, comparables
from firesteel.columns.functions.signatures import BOOLEAN, INT, STRING, argument, signature
from firesteel.columns.functions.variant_functions import variant_item
from firesteel.columns.rex import Literal
from firesteel.columns.row_keys import freeze
from firesteel.columns.type_families import BYTES, DATETIMES, STRINGS
from firesteel.columns.type_rules import any_nullable, common_type


def _common(name: str, types: Types) -> t.DataType:
    common = common_type(types)
    if common is None:
        raise FunctionError(f"Could not find a common type for all {name} elements: {cannot_apply(name, types)}")
    return common


def _resolve_array(types: Types, operands: Operands) -> Resolved:
    if not types:
        raise wrong_count("ARRAY", 0, "1 or more")
    element = _common("ARRAY", types)
    return [element] * len(types), t.ArrayType(element, False)


def _resolve_map(types: Types, operands: Operands) -> Resolved:
    if not types or len(types) % 2:
        raise FunctionError(f"MAP requires an even number of arguments, found {len(types)}")
    key, value = _common("MAP", types[::2]), _common("MAP", types[1::2])
    if isinstance(key, t.NullType):
        raise FunctionError("firesteel does not support NULL as a key of a map")
    return [key, value] * (len(types) // 2), t.MapType(key, value, False)


def _resolve_row(types: Types, operands: Operands) -> Resolved:
    fields = [t.RowField(f"EXPR${index}", data_type) for index, data_type in enumerate(types)]
    return list(types), t.RowType(fields, False)


def _map_of(*items: object) -> list[tuple[object, object]]:
    if None in items[::2]:
        raise FunctionError("firesteel does not support NULL as a key of a map")
    pairs = {freeze(key): (key, value) for key, value in zip(items[::2], items[1::2], strict=True)}
    return list(pairs.values())


def _bind_row(call: CallSite) -> Kernel:
    def kernel(columns: list[Column], length: int) -> Column:
        arrays = [as_array(column, length) for column in columns]
        if not arrays:
            return pa.array([{}] * length, call.arrow_type)
        return pa.StructArray.from_arrays(arrays, fields=list(call.arrow_type))

    return kernel


def _field_index(types: Types, operands: Operands) -> int:
    row: Any = types[0] if types else None
    if len(types) != 2 or not isinstance(row, t.RowType) or not isinstance(operands[1], Literal):
        raise cannot_apply("DOT", types, "<ROW>.<NAME>")
    name = operands[1].value
    if isinstance(name, int) and 0 <= name < len(row):
        return name
    if name not in row.names:
        raise FunctionError(f"Field '{name}' not found in a row with fields {', '.join(row.names)}")
    return row.names.index(name)


def _resolve_field(types: Types, operands: Operands) -> Resolved:
    index = _field_index(types, operands)
    row: Any = types[0]
    field = row.fields[index].data_type
    return list(types), field.with_nullable(field.is_nullable or row.is_nullable)


def _bind_field(call: CallSite) -> Kernel:
    index = _field_index(call.types, call.operands)
    return lambda columns, length: pc.struct_field(columns[0], [index])


def _resolve_item(types: Types, operands: Operands) -> Resolved:
    if len(types) != 2:
        raise wrong_count("ITEM", len(types), "2")
    container: object = types[0]
    if isinstance(container, t.ArrayType) and isinstance(types[1], t.IntType):
        if isinstance(operands[1], Literal) and operands[1].value is not None and operands[1].value < 1:
            raise FunctionError(f"Array element access needs an index starting at 1 but was {operands[1].value}.")
        return list(types), container.element_type.nullable()
    if isinstance(container, t.MapType):
        key = common_type([container.key_type, types[1]])
        if key is not None:
            return [container, types[1]], container.value_type.nullable()
    if isinstance(container, t.RowType):
        field = container.fields[_item_field(container, types, operands)].data_type
        return list(types), field.with_nullable(field.is_nullable or container.is_nullable)
    if isinstance(container, t.VariantType) and isinstance(types[1], (t.IntegralType, t.CharType, t.VarCharType)):
        return list(types), t.VariantType()
    raise cannot_apply("ITEM", types, "<ARRAY>[<INTEGER>]", "<MAP>[<KEY>]")


def _item_field(row: t.RowType, types: Types, operands: Operands) -> int:
    """Return the index of `r[1]`, the first field, or of `r['name']`."""
    number = operands[1].value if isinstance(operands[1], Literal) else None
    if isinstance(number, int):
        if not 1 <= number <= len(row):
            raise FunctionError(f"a row with {len(row)} fields has no field {number}; the first one is 1")
        return number - 1
    return _field_index(types, operands)


def _bind_item(call: CallSite) -> Kernel:
    row = call.types[0]
    if isinstance(row, t.RowType):
        index = _item_field(row, call.types, call.operands)
        return lambda columns, length: pc.struct_field(columns[0], [index])
    if isinstance(call.types[0], t.ArrayType):
        return per_row(plain(_element_at))(call)
    if isinstance(call.types[0], t.VariantType):
        return per_row(variant_item)(call)
    return per_row(plain(_value_of_key))(call)


def _element_at(values: list[object], index: int) -> object:
    return values[index - 1] if 1 <= index <= len(values) else None


def _value_of_key(pairs: list[tuple[object, object]], key: object) -> object:
    return next((value for k, value in pairs if k == key), None)


def _resolve_element(types: Types, operands: Operands) -> Resolved:
    if len(types) != 1 or not isinstance(types[0], (t.ArrayType, t.MultisetType)):
        raise cannot_apply("ELEMENT", types, "ELEMENT(<ARRAY>)")
    return list(types), types[0].element_type


def _only_element(values: list[object]) -> object:
    if len(values) > 1:
        raise FunctionError("Array has more than one element.")
    return values[0] if values else None


_ADDING = ("ARRAY_APPEND", "ARRAY_PREPEND")
_REGARDLESS_OF_ELEMENT = ("ARRAY_CONTAINS", "ARRAY_REMOVE")
"""The result is not NULL for an element that is NULL."""


def _resolve_with_element(name: str, result: t.DataType | None) -> Callable[[Types, Operands], Resolved]:
    """Return the resolver of a function of an array and an element, which is cast to the element type.

    Args:
        name: The function.
        result: The result type, or None for the type of the array.
    """

    def resolve(types: Types, operands: Operands) -> Resolved:
        if len(types) != 2:
            raise wrong_count(name, len(types), "2")
        array: Any = types[0]
        common = common_type([array.element_type, types[1]]) if isinstance(array, t.ArrayType) else None
        if common is None or type(common) not in (type(array.element_type), t.VarCharType):
            raise cannot_apply(name, types, f"{name}(<ARRAY>, <ELEMENT>)")
        # An element of another type is cast to the type of the elements, and is then as nullable as they are.
        takes_null = array.element_type.is_nullable
        is_text = isinstance(types[1], STRINGS)
        is_nullable = types[1].is_nullable or (takes_null and not is_text and type(types[1]) is not type(common))
        if name in _ADDING:
            takes_null = takes_null or types[1].is_nullable
        new_array = t.ArrayType(common.with_nullable(takes_null), array.is_nullable)
        nullable = array.is_nullable or (is_nullable and name not in _REGARDLESS_OF_ELEMENT)
        return [new_array, common.with_nullable(types[1].is_nullable)], (result or new_array).with_nullable(nullable)

    return resolve


def _resolve_arrays(name: str) -> Callable[[Types, Operands], Resolved]:
    """Return the resolver of a function whose array operands are cast to a common type."""

    def resolve(types: Types, operands: Operands) -> Resolved:
        if not types or not all(isinstance(x, t.ArrayType) for x in types):
            raise cannot_apply(name, types, f"{name}(<ARRAY>, <ARRAY>)")
        if name != "ARRAY_CONCAT" and len(types) != 2:
            raise wrong_count(name, len(types), "2")
        common = _common(name, types)
        return [common.with_nullable(x.is_nullable) for x in types], common.with_nullable(any_nullable(types))

    return resolve


def _distinct(values: list[Cell]) -> list[Cell]:
    seen: dict[Hashable, Cell] = {}
    for form, value in zip(comparables(values), values, strict=True):
        seen.setdefault(form, value)
    return list(seen.values())


def _contains(values: list[Cell] | None, needle: Cell) -> bool | None:
    return None if values is None else comparable(needle) in comparables(values)


def _position(values: list[Cell] | None, needle: Cell) -> int | None:
    if values is None or needle is None:
        return None
    sought = comparable(needle)
    return next((place for place, form in enumerate(comparables(values), 1) if form == sought), 0)


def _remove(values: list[Cell] | None, needle: Cell) -> list[Cell] | None:
    if values is None:
        return None
    unwanted = comparable(needle)
    return [value for form, value in zip(comparables(values), values, strict=True) if form != unwanted]


def _append(values: list[object] | None, addition: object) -> list[object] | None:
    return None if values is None else [*values, addition]


def _prepend(values: list[object] | None, addition: object) -> list[object] | None:
    return None if values is None else [addition, *values]


def _concat(*arrays: list[object]) -> list[object]:
    return [value for array in arrays for value in array]


def _except(values: list[Cell], others: list[Cell]) -> list[Cell]:
    unwanted = set(comparables(others))
    return [value for value in _distinct(values) if comparable(value) not in unwanted]


def _intersect(values: list[Cell], others: list[Cell]) -> list[Cell]:
    wanted = set(comparables(others))
    return [value for value in _distinct(values) if comparable(value) in wanted]


def _extreme(choose: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    return lambda values: choose((value for value in values if value is not None), default=None)


def _slice(values: list[object], start: int, end: int | None = None) -> list[object]:
    """Return the elements from `start` to `end`, both inclusive; positions start at 1, or -1 from the end.

    As in Flink, an end right before the first element is the first element.
    """
    count = len(values)
    first = start if start >= 0 else count + start + 1
    last = count if end is None else end if end >= 0 else count + end + 1
    last = last or 1
    if not values or first > count or last < 1 or first > last:
        return []
    return values[max(first, 1) - 1 : last]


def _sort(values: list[Any], ascending: bool = True, null_first: bool | None = None) -> list[Any]:
    present = sorted((value for value in values if value is not None), reverse=not ascending)
    nulls = [None] * (len(values) - len(present))
    return nulls + present if (ascending if null_first is None else null_first) else present + nulls


def _resolve_join(types: Types, operands: Operands) -> Resolved:
    array: Any = types[0] if types else None
    if isinstance(array, t.ArrayType) and not isinstance(array.element_type, STRINGS):
        raise cannot_apply("ARRAY_JOIN", types, "ARRAY_JOIN(<ARRAY<CHARACTER>>, <CHARACTER>)")
    return signature("ARRAY_JOIN", STRING, "ARRAY", "CHARACTER", "CHARACTER", optional=1)(types, operands)


def _join(values: list[Any], delimiter: str, null_text: str | None = None) -> str:
    texts = (null_text if value is None else value for value in values)
    return delimiter.join(text for text in texts if text is not None)


def _of_map(name: str, result: Callable[[Any], t.DataType]) -> Callable[[Types, Operands], Resolved]:
    return signature(name, lambda types, operands: result(types[0]), "MAP")


def _entries_type(data_type: Any) -> t.DataType:
    fields = [t.RowField("key", data_type.key_type), t.RowField("value", data_type.value_type)]
    return t.ArrayType(t.RowType(fields))


def _resolve_ordered(name: str) -> Callable[[Types, Operands], Resolved]:
    """Return the resolver of a function of arrays whose elements have an order."""

    def result(types: Types, operands: Operands) -> t.DataType | None:
        array: Any = types[0]
        if not isinstance(array.element_type, _ORDERED):
            return None
        return array if name == "ARRAY_SORT" else array.element_type.nullable()

    if name == "ARRAY_SORT":
        return signature(name, result, "ARRAY", "BOOLEAN", "BOOLEAN", optional=2)
    return signature(name, result, "ARRAY", nullable=True)


_ORDERED = (t.NumericType, *STRINGS, *BYTES, *DATETIMES, t.TimeType, t.NullType)
"""Types of the elements that Flink sorts."""


def _map_from_arrays(keys: list[object], values: list[object]) -> list[tuple[object, object]]:
    if len(keys) != len(values):
        raise FunctionError(
            "Invalid function MAP_FROM_ARRAYS call:\n"
            f"The length of the keys array {len(keys)} is not equal to the length of the values array {len(values)}"
        )
    return _map_of(*(item for pair in zip(keys, values, strict=True) for item in pair))


def _map_from_arrays_type(types: Types, operands: Operands) -> t.DataType:
    keys, values = types[0], types[1]
    assert isinstance(keys, t.ArrayType)
    assert isinstance(values, t.ArrayType)
    return t.MapType(keys.element_type, values.element_type)


def _map_union(*maps: list[tuple[object, object]]) -> list[tuple[object, object]]:
    return _map_of(*(item for pairs in maps for pair in pairs for item in pair))


def _rows(function: Callable[..., Any]) -> Callable[[CallSite], Kernel]:
    return per_row(plain(function))


def _rows_with_null(function: Callable[..., object]) -> Callable[[CallSite], Kernel]:
    return per_row(plain(function), null_call=True)


FUNCTIONS = [
    Function("ARRAY", _resolve_array, _rows_with_null(lambda *values: list(values))),
    Function("MAP", _resolve_map, _rows_with_null(_map_of), fails=may_fail),
    Function("ROW", _resolve_row, _bind_row),
    Function("DOT", _resolve_field, _bind_field),
    Function("ITEM", _resolve_item, _bind_item, fails=may_fail),
    Function("ELEMENT", _resolve_element, _rows(_only_element), fails=may_fail),
    Function("CARDINALITY", signature("CARDINALITY", INT, "COLLECTION"), _rows(len)),
    Function("ARRAY_CONTAINS", _resolve_with_element("ARRAY_CONTAINS", BOOLEAN), _rows_with_null(_contains)),
    Function("ARRAY_POSITION", _resolve_with_element("ARRAY_POSITION", INT), _rows_with_null(_position)),
    Function("ARRAY_REMOVE", _resolve_with_element("ARRAY_REMOVE", None), _rows_with_null(_remove)),
    Function("ARRAY_APPEND", _resolve_with_element("ARRAY_APPEND", None), _rows_with_null(_append)),
    Function("ARRAY_PREPEND", _resolve_with_element("ARRAY_PREPEND", None), _rows_with_null(_prepend)),
    Function("ARRAY_DISTINCT", signature("ARRAY_DISTINCT", argument(0), "ARRAY"), _rows(_distinct)),
    Function("ARRAY_REVERSE", signature("ARRAY_REVERSE", argument(0), "ARRAY"), _rows(lambda values: values[::-1])),
    Function("ARRAY_CONCAT", _resolve_arrays("ARRAY_CONCAT"), _rows(_concat)),
    Function("ARRAY_UNION", _resolve_arrays("ARRAY_UNION"), _rows(lambda a, b: _distinct([*a, *b]))),
    Function("ARRAY_EXCEPT", _resolve_arrays("ARRAY_EXCEPT"), _rows(_except)),
    Function("ARRAY_INTERSECT", _resolve_arrays("ARRAY_INTERSECT"), _rows(_intersect)),
    Function("ARRAY_MAX", _resolve_ordered("ARRAY_MAX"), _rows(_extreme(max))),
    Function("ARRAY_MIN", _resolve_ordered("ARRAY_MIN"), _rows(_extreme(min))),
    Function(
        "ARRAY_SLICE", signature("ARRAY_SLICE", argument(0), "ARRAY", "INTEGER", "INTEGER", optional=1), _rows(_slice)
    ),
    Function("ARRAY_SORT", _resolve_ordered("ARRAY_SORT"), _rows(_sort)),
    Function("ARRAY_JOIN", _resolve_join, _rows(_join)),
    Function("MAP_KEYS", _of_map("MAP_KEYS", lambda x: t.ArrayType(x.key_type)), _rows(lambda m: [k for k, _ in m])),
    Function(
        "MAP_VALUES", _of_map("MAP_VALUES", lambda x: t.ArrayType(x.value_type)), _rows(lambda m: [v for _, v in m])
    ),
    Function(
        "MAP_ENTRIES",
        _of_map("MAP_ENTRIES", _entries_type),
        _rows(lambda m: [{"key": key, "value": value} for key, value in m]),
    ),
    Function(
        "MAP_FROM_ARRAYS",
        signature("MAP_FROM_ARRAYS", _map_from_arrays_type, "ARRAY", "ARRAY"),
        _rows(_map_from_arrays),
        fails=may_fail,
    ),
    Function("MAP_UNION", signature("MAP_UNION", argument(0), "MAP", variadic=True, common=True), _rows(_map_union)),
]
