"""Forms of expressions with a place for an argument or two, each of which is asked for arguments of all types."""

from __future__ import annotations

import re

from tests.flink_recordings.values.expressions import areas
from tests.flink_recordings.values.inputs import COLUMNS

ARGUMENTS = [
    *(column for column in COLUMNS if column not in ("n", "c", "j")),
    "INTERVAL '1' DAY",
    "INTERVAL '1' MONTH",
    "NULL",
]
"""What stands in the places: a column of each type, intervals, and NULL."""

PAIRS = [
    *(f"{{x}} {operator} {{y}}" for operator in ("+", "-", "*", "/", "%", "||", "=", "<>", "<", ">=")),
    "{x} IS DISTINCT FROM {y}",
    "{x} IN ({y})",
    "{x} BETWEEN {y} AND {y}",
    "CASE WHEN b THEN {x} ELSE {y} END",
    "IF(b, {x}, {y})",
    "COALESCE({x}, {y})",
    "NULLIF({x}, {y})",
    "GREATEST({x}, {y})",
    "ARRAY[{x}, {y}]",
    "MAP['a', {x}, 'b', {y}]",
    "MAP[{x}, 1, {y}, 2]",
    "ROW({x}, {y})",
    "JSON_OBJECT('a' VALUE {x}, 'b' VALUE {y})",
]
"""Forms with two places, which are asked for all pairs of arguments."""

_SINGLE = [
    "-{x}",
    "NOT {x}",
    "{x} IS NULL",
    "{x} IS TRUE",
    "{x} AND b",
    "{x} LIKE 'a%'",
    "s LIKE {x}",
    "{x} SIMILAR TO 'a%'",
    "{x}[1]",
    "a[{x}]",
    "k[{x}]",
    "CASE {x} WHEN {x} THEN 1 END",
    "CASE WHEN {x} THEN 1 END",
    "CEIL({x} TO DAY)",
    "FLOOR({x} TO HOUR)",
    "EXTRACT(YEAR FROM {x})",
    "EXTRACT(SECOND FROM {x})",
    "TRIM(BOTH 'a' FROM {x})",
    "TRIM(BOTH {x} FROM s)",
    "SUBSTRING({x} FROM 2)",
    "SUBSTRING(s FROM {x})",
    "POSITION({x} IN s)",
    "POSITION('a' IN {x})",
    "OVERLAY({x} PLACING 'a' FROM 1)",
    "OVERLAY(s PLACING {x} FROM 1)",
    "OVERLAY(s PLACING 'a' FROM {x})",
    "JSON_OBJECT({x} VALUE 1)",
    "JSON_OBJECT('a' VALUE {x} ABSENT ON NULL)",
    "JSON_ARRAY({x})",
    "JSON_ARRAY({x} NULL ON NULL)",
    "JSON_STRING({x})",
    "{x} IS JSON",
    "JSON_VALUE(j, '$.a' DEFAULT {x} ON EMPTY)",
    "TIMESTAMPADD(DAY, {x}, ts3)",
    "TIMESTAMPADD(DAY, 1, {x})",
    "TIMESTAMPDIFF(DAY, {x}, ts3)",
    "TIMESTAMPDIFF(HOUR, {x}, {x})",
    "({x}, INTERVAL '1' DAY) OVERLAPS ({x}, INTERVAL '1' DAY)",
    "CARDINALITY({x})",
    "ELEMENT({x})",
    *(
        f"CAST({{x}} AS {kind})"
        for kind in [
            *dict.fromkeys(COLUMNS.values()),
            "CHAR(3)",
            "VARCHAR(3)",
            "BINARY(2)",
            "INTERVAL DAY",
            "INTERVAL MONTH",
        ]
    ),
    *(
        f"{call}({word}{{x}})"
        for call in ("COUNT", "SUM", "AVG", "MIN", "MAX", "STDDEV_POP", "VAR_SAMP", "COLLECT", "LISTAGG", "FIRST_VALUE")
        for word in ("", "DISTINCT ")
    ),
    "COUNT({x}, b)",
    "COUNT(DISTINCT {x}, b)",
    "LAST_VALUE({x})",
    "ARRAY_AGG({x})",
    "SINGLE_VALUE({x})",
    "APPROX_COUNT_DISTINCT({x})",
    "JSON_ARRAYAGG({x})",
    "JSON_OBJECTAGG(KEY s VALUE {x})",
    "JSON_OBJECTAGG(KEY {x} VALUE 1)",
    "COUNT(*) FILTER (WHERE {x})",
    "SUM(SUM(i)) OVER (ORDER BY {x})",
]
_CALL = re.compile(r"([A-Z_0-9]+)\((.*)\)")
_KEYWORDS = re.compile(r" (FROM|TO|FOR|AS|IN|ON|RETURNING|VALUE|WITH|PLACING|OVER|WITHIN)\b|\*|^(DISTINCT|KEY) ")


def single_forms() -> list[str]:
    """Return the forms with one place: those of each argument of the recorded calls, by name and count of arguments."""
    calls: dict[tuple[str, int], list[str]] = {}
    for expression in (expression for expressions in areas().values() for expression in expressions):
        match = _CALL.fullmatch(expression)
        arguments = _arguments(match[2]) if match else None
        if match and arguments and not _KEYWORDS.search(_without_texts(match[2])):
            calls.setdefault((match[1], len(arguments)), arguments)
    found = dict.fromkeys(_SINGLE)
    for (name, _), arguments in calls.items():
        for place in range(len(arguments)):
            texts = [*arguments[:place], "{x}", *arguments[place + 1 :]]
            found[f"{name}({', '.join(texts)})"] = None
    return [form for form in found if form.count("{x}") == 1 or form in _SINGLE]


def _without_texts(text: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", "''", text)


def _arguments(text: str) -> list[str] | None:
    """Return the arguments of a call; None if its parentheses are those of several calls."""
    found, depth, start, quoted = [], 0, 0, False
    for place, character in enumerate(text):
        quoted ^= character == "'"
        if quoted:
            continue
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            return None
        if character == "," and depth == 0:
            found.append(text[start:place].strip())
            start = place + 1
    return [*found, text[start:].strip()] if text.strip() else None


def forms() -> dict[str, list[tuple[str, ...]]]:
    """Return the arguments that each form is asked for."""
    singles = [(one,) for one in ARGUMENTS]
    pairs = [(one, other) for one in ARGUMENTS for other in ARGUMENTS]
    return {**dict.fromkeys(single_forms(), singles), **dict.fromkeys(PAIRS, pairs)}


def filled(form: str, arguments: tuple[str, ...]) -> str:
    """Return the expression of a form with arguments."""
    return form.replace("{x}", arguments[0]).replace("{y}", arguments[-1])


def key(arguments: tuple[str, ...]) -> str:
    """Return the key of arguments in the recording."""
    return " | ".join(arguments)
