"""Which functions take a NULL without a type, and where.

Calcite asks each function for the type of such an operand, and refuses it where the function does not know. Flink's own
functions know it from their signatures.
"""

from __future__ import annotations

from typing import Final

_OPERATORS: Final = """
    =, <>, <, <=, >, >=, IN, NOT IN, BETWEEN, NOT BETWEEN, IS NULL, IS NOT NULL, IS DISTINCT FROM, IS NOT DISTINCT FROM,
    CASE, COALESCE, IFNULL, GREATEST, LEAST, ARRAY, ROW, JSON OPTION"""
_FUNCTIONS: Final = """
    ARRAY_APPEND, ARRAY_CONTAINS, ARRAY_POSITION, ARRAY_PREPEND, ARRAY_REMOVE, BTRIM, ENDSWITH, INET_ATON, INET_NTOA,
    JSON_QUOTE, JSON_STRING, JSON_UNQUOTE, PRINTF, REGEXP_COUNT, REGEXP_EXTRACT_ALL, REGEXP_INSTR, REGEXP_SUBSTR, SPLIT,
    STARTSWITH, TYPEOF, UNHEX, URL_DECODE, URL_ENCODE"""
_EVERYWHERE: Final = frozenset(name.strip() for name in f"{_OPERATORS},{_FUNCTIONS}".split(","))
_BUT_FIRST: Final = frozenset({"ARRAY_JOIN", "ARRAY_SLICE", "ARRAY_SORT", "ELT", "NULLIF"})
_FIRST: Final = frozenset({"TO_TIMESTAMP_LTZ"})


def takes_null(function: str, index: int) -> bool:
    """Return whether a function takes a NULL without a type as its operand with this index."""
    if function in _BUT_FIRST:
        return index > 0
    if function == "MAP":
        return index % 2 == 0
    return function in _EVERYWHERE or (function in _FIRST and index == 0)
