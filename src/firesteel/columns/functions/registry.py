"""The registry of built-in scalar functions."""

from __future__ import annotations

from firesteel.columns.functions import (
    arithmetic,
    casts,
    collection_functions,
    comparison,
    conditional,
    current_functions,
    hash_codes,
    json_functions,
    math_functions,
    pattern_functions,
    regex_functions,
    string_functions,
    temporal_functions,
    text_functions,
    text_predicates,
    time_differences,
    variant_functions,
)
from firesteel.columns.functions.function import Function

_MODULES = (
    arithmetic,
    casts,
    collection_functions,
    comparison,
    conditional,
    current_functions,
    hash_codes,
    json_functions,
    math_functions,
    pattern_functions,
    regex_functions,
    string_functions,
    temporal_functions,
    time_differences,
    text_functions,
    text_predicates,
    variant_functions,
)

_FUNCTIONS: dict[str, Function] = {function.name: function for module in _MODULES for function in module.FUNCTIONS}

_ALIASES = {
    "!=": "<>",
    "MOD": "%",
    "CEILING": "CEIL",
    "SUBSTR": "SUBSTRING",
    "CHARACTER_LENGTH": "CHAR_LENGTH",
}


def find_function(name: str) -> Function | None:
    """Return the scalar function with this name or alias (case-insensitive), or None."""
    upper = name.upper()
    return _FUNCTIONS.get(_ALIASES.get(upper, upper))


def function_names() -> list[str]:
    """Return the names of all scalar functions, including aliases."""
    return sorted({*_FUNCTIONS, *_ALIASES})
