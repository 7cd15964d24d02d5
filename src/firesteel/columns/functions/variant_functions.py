"""Functions of VARIANT: values of JSON whose types are known per value. Flink: `BinaryVariant`.

A column of VARIANT has JSON texts in one form: sorted keys, no blanks, decimals without zeros at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

from firesteel.columns import column_types as t
from firesteel.columns.functions.function import CallSite, Function, may_fail, per_row, plain
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.signatures import signature
from firesteel.columns.json_text import object_text, quote
from firesteel.columns.value_text import double_text
from firesteel.common.values.decimals import EXACT

Pairs = list[tuple[str, object]]


def _number(text: str) -> object:
    """Return a number as Flink stores it: with an exponent as DOUBLE, otherwise exactly."""
    return float(text) if "e" in text.lower() else Decimal(text)


def _last_values(pairs: Pairs) -> dict[str, object]:
    return dict(pairs)


def _single_values(pairs: Pairs) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("VARIANT_DUPLICATE_KEY")
    return found


def _constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _json_text(value: object) -> str:
    """Return the JSON text of a value in the form of columns."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{EXACT.plus(value.normalize(EXACT)):f}"
    if isinstance(value, float):
        return double_text(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, list):
        return f"[{','.join(map(_json_text, value))}]"
    assert isinstance(value, dict)
    return object_text({key: _json_text(item) for key, item in value.items()})


def _parsed(text: str, pairs_hook: Callable[[Pairs], dict[str, object]] = _last_values) -> object:
    value: object = json.loads(
        text, parse_float=_number, parse_int=Decimal, parse_constant=_constant, object_pairs_hook=pairs_hook
    )
    return value


def _parse(text: str, allows_duplicates: bool = False) -> str:
    hook = _last_values if allows_duplicates else _single_values
    try:
        return _json_text(_parsed(text, hook))
    except (ValueError, RecursionError) as error:
        raise FunctionError(f"Failed to parse json string: {text} ({error})") from error


def _try_parse(text: str, allows_duplicates: bool = False) -> str | None:
    try:
        return _parse(text, allows_duplicates)
    except FunctionError:
        return None


def variant_item(call: CallSite) -> Callable[..., str | None]:
    """Return the function of an access by field or by position from 1; None for what is not there."""
    return _field if isinstance(call.types[1], (t.CharType, t.VarCharType)) else _element


def _field(text: str, name: str) -> str | None:
    value = _parsed(text)
    if not isinstance(value, dict):
        raise FunctionError(f"Expected a VARIANT that is an object, found {text}")
    return _json_text(value[name]) if name in value else None


def _element(text: str, position: int) -> str | None:
    value = _parsed(text)
    if not isinstance(value, list):
        raise FunctionError(f"Expected a VARIANT that is an array, found {text}")
    return _json_text(value[position - 1]) if 1 <= position <= len(value) else None


FUNCTIONS = [
    Function(
        "PARSE_JSON",
        signature("PARSE_JSON", t.VariantType(), "CHARACTER", "BOOLEAN", optional=1),
        per_row(plain(_parse)),
        fails=may_fail,
    ),
    Function(
        "TRY_PARSE_JSON",
        signature("TRY_PARSE_JSON", t.VariantType(), "CHARACTER", "BOOLEAN", optional=1, nullable=True),
        per_row(plain(_try_parse)),
    ),
]
