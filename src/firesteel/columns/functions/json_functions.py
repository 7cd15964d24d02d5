"""JSON functions. Flink: `SqlJsonUtils`.

Clauses are trailing operands, each a call of `JSON OPTION` with the clause's name, its value and a default:

- `RETURNING` with a type; `EMPTY` and `ERROR` with the behaviour ON EMPTY and ON ERROR (`NULL`, `ERROR`, `DEFAULT` and
  the value, `EMPTY ARRAY`, `EMPTY OBJECT`, `TRUE`, `FALSE`, `UNKNOWN`).
- `WRAPPER` with `WITHOUT`, `WITH CONDITIONAL` or `WITH UNCONDITIONAL`.
- `ON NULL` with `NULL` or `ABSENT`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.functions.cast_parsing import CastError, text_parser
from firesteel.columns.functions.function import (
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    may_fail,
    per_row,
    plain,
)
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply, wrong_count
from firesteel.columns.functions.json_path_reader import json_path
from firesteel.columns.functions.json_path_steps import JsonPathError
from firesteel.columns.functions.json_values import check_json_types, json_of, parse_json, scalar_text
from firesteel.columns.functions.signatures import BOOLEAN, STRING, signature
from firesteel.columns.json_text import json_writer, object_text
from firesteel.columns.pylist import pylist
from firesteel.columns.rex import Call, constant, input_columns
from firesteel.columns.type_families import STRINGS
from firesteel.columns.type_rules import any_nullable
from firesteel.columns.type_text import type_text

JSON_OPTION = "JSON OPTION"
_RAW = frozenset(["JSON_OBJECT", "JSON_ARRAY", "JSON"])


def _options(operands: Operands) -> dict[str, int]:
    """Return the operand index of each clause, by clause name."""
    return {
        str(constant(operand.operands[0])): index
        for index, operand in enumerate(operands)
        if isinstance(operand, Call) and operand.function == JSON_OPTION
    }


def _option(operands: Operands, name: str, default: object) -> Any:
    """Return the value of a clause, or `default` if the call does not have the clause."""
    index = _options(operands).get(name)
    if index is None:
        return default
    clause = operands[index]
    assert isinstance(clause, Call)
    return constant(clause.operands[1])


def _plain(operands: Operands) -> int:
    """Return the number of operands before the clauses."""
    return len(operands) - len(_options(operands))


def _find(text: str, path: str) -> object:
    """Return the value at a path; None if a lax path matches nothing.

    Raises:
        JsonPathError: The text is not JSON, or a strict path matches nothing or null.
    """
    compiled = json_path(path)
    value = parse_json(text)
    try:
        found = compiled.find(value)
        if found is None and not compiled.lax:
            raise JsonPathError("Strict jsonpath mode requires a non empty returned value, but is null")
        return found
    except JsonPathError:
        if compiled.lax:
            return None
        raise


def _resolve_text(name: str, types: Types) -> None:
    if len(types) < 2:
        raise wrong_count(name, len(types), "2 or more")
    if not all(isinstance(x, (*STRINGS, t.NullType)) for x in types[:2]):
        raise cannot_apply(name, types, f"{name}(<CHARACTER>, <CHARACTER>)")


def _casts(types: Types) -> list[t.DataType]:
    """Return the operand types, with STRING for a JSON text or path that is an untyped NULL."""
    return [STRING if isinstance(x, t.NullType) and index < 2 else x for index, x in enumerate(types)]


def _resolve_value(types: Types, operands: Operands) -> Resolved:
    _resolve_text("JSON_VALUE", types)
    returning = _option(operands, "RETURNING", STRING)
    if not isinstance(returning, (*STRINGS, t.BooleanType, t.IntType, t.DoubleType)):
        raise FunctionError(
            f"Unsupported type '{type_text(returning)}' for JSON_VALUE; use STRING, BOOLEAN, INTEGER or DOUBLE"
        )
    return _casts(types), returning.nullable()


def _value(call: CallSite) -> Callable[..., Any]:
    on_empty, on_error = (_option(call.operands, name, "NULL") for name in ("EMPTY", "ERROR"))
    positions = _options(call.operands)
    convert = _scalar_converter(call.type)

    def function(*row: Any) -> Any:
        text, path = row[:2]
        if text is None or path is None:
            return None
        empty_default, error_default = (row[positions.get(name, 0)] for name in ("EMPTY", "ERROR"))
        try:
            value = _find(text, path)
        except JsonPathError as error:
            return _fallback(on_error, error_default, error)
        container = isinstance(value, (dict, list))
        if value is None or (container and json_path(path).lax):
            return _fallback(on_empty, empty_default, "Empty result of JSON_VALUE function is not allowed")
        if container:
            return _fallback(on_error, error_default, "Strict jsonpath mode requires scalar value")
        try:
            return convert(value)
        except (FunctionError, OverflowError) as error:
            return _fallback(on_error, error_default, error)

    return function


def _fallback(behaviour: str, default: object, problem: object) -> object:
    if behaviour == "ERROR":
        raise FunctionError(f"JSON_VALUE: {problem}")
    return default if behaviour == "DEFAULT" else None


def _scalar_converter(data_type: t.DataType) -> Callable[[Any], Any]:
    if isinstance(data_type, STRINGS):
        return scalar_text
    if isinstance(data_type, t.IntType):
        return lambda value: _int(value) if not isinstance(value, str) else _parsed(data_type, value)
    if isinstance(data_type, t.DoubleType):
        return lambda value: float(value) if not isinstance(value, str) else _parsed(data_type, value)
    return lambda value: value if isinstance(value, bool) else _parsed(data_type, scalar_text(value))


def _int(number: int | float | Decimal) -> int:
    # First, as `int` writes out all digits: 1e999999999 would take hours, and memory.
    if not -(2**31) - 1 < number < 2**31:
        raise FunctionError(f"{number} is out of the range of INTEGER")
    return int(number)


def _parsed(data_type: t.DataType, text: str) -> object:
    parse = text_parser(data_type)
    assert parse is not None
    try:
        return parse(text)
    except CastError as error:
        raise FunctionError(f"JSON_VALUE: {error}") from error


def _resolve_query(types: Types, operands: Operands) -> Resolved:
    _resolve_text("JSON_QUERY", types)
    returning = _option(operands, "RETURNING", STRING)
    strings = isinstance(returning, t.ArrayType) and isinstance(returning.element_type, STRINGS)
    if not strings and not isinstance(returning, STRINGS):
        raise FunctionError(f"Unsupported type '{type_text(returning)}' for JSON_QUERY; use STRING or ARRAY<STRING>")
    return _casts(types), returning.nullable()


_EMPTY: dict[str, Any] = {"NULL": None, "EMPTY ARRAY": [], "EMPTY OBJECT": {}}


def _query(call: CallSite) -> Callable[..., Any]:
    wrapper = _option(call.operands, "WRAPPER", "WITHOUT")
    on_empty, on_error = (_option(call.operands, name, "NULL") for name in ("EMPTY", "ERROR"))
    array = isinstance(call.type, t.ArrayType)

    def shown(value: object) -> Any:
        if value is None:
            return None
        if not array:
            return json_of(value)
        return (
            [v if v is None or isinstance(v, str) else json_of(v) for v in value] if isinstance(value, list) else None
        )

    def fallback(behaviour: str, problem: object) -> Any:
        if behaviour == "ERROR":
            raise FunctionError(f"JSON_QUERY: {problem}")
        return shown(_EMPTY[behaviour])

    def function(text: Any, path: Any, *clauses: object) -> Any:
        if text is None or path is None:
            return None
        try:
            value = _find(text, path)
        except JsonPathError as error:
            return fallback(on_error, error)
        if value is not None and (
            wrapper in ("WITH", "WITH UNCONDITIONAL") or (wrapper == "WITH CONDITIONAL" and not isinstance(value, list))
        ):
            value = [value]
        if value is None or (json_path(path).lax and not isinstance(value, (dict, list))):
            return fallback(on_empty, "Empty result of JSON_QUERY function is not allowed")
        if not isinstance(value, (dict, list)):
            return fallback(on_error, "Strict jsonpath mode requires array or object value")
        try:
            return shown(value)
        except RecursionError:
            return fallback(on_error, "the value is nested too deeply")

    return function


def _resolve_exists(types: Types, operands: Operands) -> Resolved:
    _resolve_text("JSON_EXISTS", types)
    if len(operands) > 1 and any(True for _ in input_columns(operands[1])):
        raise FunctionError("Unsupported call: JSON_EXISTS(STRING, STRING); its path is a constant")
    return _casts(types), t.BooleanType()


def _exists(call: CallSite) -> Callable[..., Any]:
    on_error = _option(call.operands, "ERROR", "FALSE")

    def function(text: Any, path: Any, *clauses: object) -> bool | None:
        if text is None or path is None:
            return None
        try:
            return _find(text, path) is not None
        except JsonPathError as error:
            if on_error == "ERROR":
                raise FunctionError(f"JSON_EXISTS: {error}") from error
            return {"TRUE": True, "FALSE": False, "UNKNOWN": None}[on_error]

    return function


_KINDS: dict[str, Any] = {
    "": object,
    " VALUE": object,
    " SCALAR": (str, int, float, type(None), Decimal),
    " ARRAY": list,
    " OBJECT": dict,
}


def _is_json(kind: type | tuple[type, ...], negated: bool) -> Callable[[Any], bool]:
    """Return the predicate of IS [NOT] JSON; NULL is not JSON."""

    def test(text: Any) -> bool:
        if text is None:
            return negated
        try:
            return isinstance(parse_json(text), kind) is not negated
        except JsonPathError:
            return negated

    return test


def _writers(call: CallSite) -> list[Callable[[Any], str]]:
    """Return the JSON writer of each operand before the clauses; results of JSON constructors are kept as they are."""
    return [
        (lambda value: "null" if value is None else value)
        if isinstance(operand, Call) and operand.function in _RAW
        else json_writer(operand.type)
        for operand in call.operands[: _plain(call.operands)]
    ]


def _resolve_object(types: Types, operands: Operands) -> Resolved:
    plain_types = types[: _plain(operands)]
    if len(plain_types) % 2:
        raise FunctionError("JSON_OBJECT takes pairs of a key and a value")
    if not all(isinstance(x, STRINGS) for x in plain_types[::2]):
        raise cannot_apply("JSON_OBJECT", plain_types, "JSON_OBJECT([KEY <CHARACTER> VALUE <ANY>]*)")
    if any_nullable(plain_types[::2]):
        raise FunctionError("keys of JSON_OBJECT must be NOT NULL; use COALESCE")
    check_json_types(plain_types[1::2])
    return list(types), STRING.not_null()


def _object(call: CallSite) -> Callable[..., str]:
    writers = _writers(call)[1::2]
    keep_null = _option(call.operands, "ON NULL", "NULL") == "NULL"
    count = _plain(call.operands)

    def function(*items: Any) -> str:
        pairs: dict[str, str] = {}
        for key, value, write in zip(items[:count:2], items[1:count:2], writers, strict=True):
            if value is not None or keep_null:
                pairs[key] = write(value)
        return object_text(pairs)

    return function


def _resolve_json_array(types: Types, operands: Operands) -> Resolved:
    check_json_types(types[: _plain(operands)])
    return list(types), STRING.not_null()


def _array(call: CallSite) -> Callable[..., str]:
    writers = _writers(call)
    keep_null = _option(call.operands, "ON NULL", "ABSENT") == "NULL"

    def function(*items: object) -> str:
        pairs = zip(writers, items, strict=False)
        return f"[{','.join(write(item) for write, item in pairs if item is not None or keep_null)}]"

    return function


def _resolve_option(types: Types, operands: Operands) -> Resolved:
    return list(types), types[2] if len(types) > 2 else t.NullType()


def _bind_option(call: CallSite) -> Kernel:
    raise AssertionError("`lazy_calls` computes the clauses")


def _resolve_json_string(types: Types, operands: Operands) -> Resolved:
    check_json_types([x for x in types if not isinstance(x, t.NullType)])
    return signature("JSON_STRING", STRING, "ANY")(types, operands)


def _json_string(call: CallSite) -> Kernel:
    write = _writers(call)[0]

    def kernel(columns: list[Column], length: int) -> Column:
        column = columns[0]
        if isinstance(column, pa.Scalar):
            value = column.as_py()
            return pa.scalar(None if value is None else write(value), pa.string())
        return pa.array([None if value is None else write(value) for value in pylist(column)], pa.string())

    return kernel


def _json(text: str) -> str:
    """Return the JSON text of JSON(text), which is allowed only within JSON_OBJECT and JSON_ARRAY."""
    try:
        return json_of(parse_json(text))
    except (JsonPathError, RecursionError) as error:
        raise FunctionError(f"Invalid JSON string in JSON(value) function: {error}") from error


_QUOTED = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNQUOTED = {quoted[1]: character for character, quoted in _QUOTED.items()}
_TO_QUOTE = re.compile(r'["\\/\b\f\n\r\t]|[^\x00-\x7f]')
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.?))", re.DOTALL)


def _quote(text: str) -> str:
    """Return a text in quotes as Flink does, which leaves other control characters as they are."""
    return f'"{_TO_QUOTE.sub(lambda match: _QUOTED.get(match[0]) or json.dumps(match[0])[1:-1], text)}"'


def _unquote(text: str) -> str:
    """Return what is between quotes without its escapes; the text itself if it has no quotes or another escape."""
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    try:
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else _UNQUOTED[match[2]], text[1:-1])
    except KeyError:
        return text


FUNCTIONS = [
    Function("JSON_VALUE", _resolve_value, per_row(_value, null_call=True), fails=may_fail),
    Function("JSON_QUERY", _resolve_query, per_row(_query, null_call=True), fails=may_fail),
    Function("JSON_EXISTS", _resolve_exists, per_row(_exists, null_call=True), fails=may_fail),
    *(
        Function(
            f"IS {word}JSON{kind}",
            signature(f"IS {word}JSON{kind}", BOOLEAN, "CHARACTER", nullable=False),
            per_row(plain(_is_json(classes, bool(word))), null_call=True),
        )
        for kind, classes in _KINDS.items()
        for word in ("", "NOT ")
    ),
    Function("JSON_OBJECT", _resolve_object, per_row(_object, null_call=True), fails=may_fail),
    Function("JSON_ARRAY", _resolve_json_array, per_row(_array, null_call=True), fails=may_fail),
    Function(JSON_OPTION, _resolve_option, _bind_option),
    Function("JSON_STRING", _resolve_json_string, _json_string, fails=may_fail),
    Function("JSON", signature("JSON", STRING, "CHARACTER"), per_row(plain(_json)), fails=may_fail),
    Function("JSON_QUOTE", signature("JSON_QUOTE", STRING, "CHARACTER"), per_row(plain(_quote))),
    Function("JSON_UNQUOTE", signature("JSON_UNQUOTE", STRING, "CHARACTER"), per_row(plain(_unquote))),
]
