"""Expressions that mix two types of numbers, over fractions such as 0.7 that no floating point number is equal to."""

from __future__ import annotations

from itertools import permutations

TYPES = ("FLOAT", "DOUBLE", "DECIMAL(10, 1)", "DECIMAL(12, 4)", "DECIMAL(30, 12)")
_FORMS = (
    "{0} = {1}",
    "{0} < {1}",
    "NULLIF({0}, {1})",
    "{0} IN ({1}, 7)",
    "{0} IN (0.7, 0.3)",
    "CASE {0} WHEN {1} THEN 'same' ELSE 'other' END",
    "{0} IS DISTINCT FROM {1}",
    "GREATEST({0}, {1})",
    "COALESCE({0}, {1})",
    "{0} - {1}",
    "{0} * {1}",
    "ARRAY[{0}, {1}]",
)


def mixed_number_expressions() -> list[str]:
    """Return the forms with all pairs of types."""
    return list(dict.fromkeys(mixed(form, *pair) for form in _FORMS for pair in permutations(TYPES, 2)))


def mixed(form: str, first: str, second: str) -> str:
    """Return a form with numbers of two types."""
    return form.format(_fraction(first), _fraction(second))


def _fraction(kind: str) -> str:
    return f"TRY_CAST('0.' || CAST(i AS STRING) AS {kind})"
