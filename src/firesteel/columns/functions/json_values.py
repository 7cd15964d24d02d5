"""JSON texts as values, and values as JSON texts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from decimal import Decimal

from firesteel.columns import column_types as t
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.json_path_operators import is_number
from firesteel.columns.functions.json_path_steps import JsonPathError
from firesteel.columns.json_text import has_json, object_text, quote
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import double_text


def parse_json(text: str) -> object:
    """Parse a JSON text; numbers with a decimal point become Decimal.

    As in Flink, what follows it is ignored. A number must end at a blank, and a word such as `true` where a word does.

    Raises:
        JsonPathError: The text does not begin with JSON.
    """
    text = text.lstrip(_BLANKS)
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, RecursionError) as error:
        raise JsonPathError(str(error)) from error
    rest = text[end : end + 1]
    is_word = value is None or isinstance(value, bool)
    if (is_word and _OF_WORDS.match(rest)) or (not is_word and is_number(value) and rest.strip(_BLANKS)):
        raise JsonPathError(f"Unexpected character {rest!r} after {text[:end]}")
    found: object = value
    return found


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def _decimal(text: str) -> Decimal:
    """Return a number of JSON as `BigDecimal` has it, which has no -0.0."""
    number = Decimal(text)
    return number if number else number.copy_abs()


_BLANKS = " \t\n\r"
_OF_WORDS = re.compile(r"[\w$]")
_DECODER = json.JSONDecoder(parse_float=_decimal, parse_constant=_refuse)


def json_of(value: object) -> str:
    """Return parsed JSON as text without spaces and with sorted keys."""
    if isinstance(value, dict):
        return object_text({key: json_of(item) for key, item in value.items()})
    if isinstance(value, list):
        return f"[{','.join(map(json_of, value))}]"
    return quote(value) if isinstance(value, str) else scalar_text(value)


def scalar_text(value: object) -> str:
    """Return a JSON scalar as text; strings are not quoted."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return double_text(value) if isinstance(value, float) else str(value)


def check_json_types(types: Iterable[t.DataType]) -> None:
    """Check that JSON can have the values of all types.

    Raises:
        FunctionError: It has none for dates, times of day, intervals and raw values, nor for objects whose keys are no
            texts.
    """
    for data_type in types:
        if not has_json(data_type):
            found = type_text(data_type.nullable())
            raise FunctionError(f"Type '{found}' is not scalar or cannot be converted into JSON; cast it to STRING")
