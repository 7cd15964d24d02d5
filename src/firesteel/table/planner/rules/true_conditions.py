"""What must be true, or can't be, where a condition is TRUE. NULL is no truth: `x IS TRUE` is as good as `x` there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firesteel.columns.column_types import BooleanType, DoubleType, FloatType
from firesteel.columns.rex import Call, Literal, Rex
from firesteel.table.planner.rel.rex_tools import is_repeatable, with_operands
from firesteel.table.planner.rules.lossless_casts import FALSE, compared_as_column, one_of_column

__all__ = ["contradicts", "when_true"]

_INVERSE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
_TESTS = {
    "IS TRUE": "IS NOT TRUE",
    "IS FALSE": "IS NOT FALSE",
    "IS NULL": "IS NOT NULL",
    "IS UNKNOWN": "IS NOT NULL",
    "IS NOT UNKNOWN": "IS NULL",
}
_NEGATED_TESTS = _TESTS | {negation: test for test, negation in _TESTS.items() if "UNKNOWN" not in test}
_OUTCOMES = {"=": "=", "<>": "<>?", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
"""How two values may compare where a comparison is TRUE; `?` is neither, as with NaN."""


def when_true(rex: Rex) -> Rex:
    """Return a condition that is TRUE for the same rows, where FALSE and NULL are the same."""
    if not isinstance(rex, Call):
        return rex
    match rex.function:
        case "AND" | "OR":
            return with_operands(rex, tuple(map(when_true, rex.operands)))
        case "NOT":
            return _negated(rex)
        case "IS TRUE":
            return when_true(rex.operands[0])
        case "IS FALSE":
            return when_true(_not(rex.operands[0]))
        case "=" | "<>" | "<" | "<=" | ">" | ">=":
            return compared_as_column(_literal_last(rex)) if not any(map(_is_null, rex.operands)) else FALSE
        case "IN":
            return one_of_column(replace(rex, operands=tuple(one for one in rex.operands if not _is_null(one))))
    return rex


def _is_null(rex: Rex) -> bool:
    return isinstance(rex, Literal) and rex.value is None


def _literal_last(rex: Call) -> Call:
    first, second = rex.operands
    if isinstance(first, Literal) and not isinstance(second, Literal):
        return Call(_MIRRORED[rex.function], (second, first), rex.type)
    return rex


def _not(rex: Rex) -> Rex:
    if isinstance(rex, Literal):
        return rex if rex.value is None else Literal(not rex.value, rex.type)
    return Call("NOT", (rex,), BooleanType(rex.type.is_nullable))


def _negated(rex: Call) -> Rex:
    """Return NOT of a condition without NOT, where there is such a condition with the same NULLs."""
    (operand,) = rex.operands
    if not isinstance(operand, Call):
        return _not(operand)
    match operand.function:
        case "NOT":
            return when_true(operand.operands[0])
        case "AND" | "OR":
            other = "OR" if operand.function == "AND" else "AND"
            return Call(other, tuple(when_true(_not(part)) for part in operand.operands), rex.type)
        case name if name in _NEGATED_TESTS:
            return when_true(Call(_NEGATED_TESTS[name], operand.operands, rex.type))
        # Both `x < 1` and `x >= 1` are FALSE for NaN.
        case name if name in _INVERSE and not _may_be_nan(operand):
            return when_true(Call(_INVERSE[name], operand.operands, rex.type))
    return rex


def _may_be_nan(rex: Call) -> bool:
    return any(isinstance(operand.type, DoubleType | FloatType) for operand in rex.operands)


def contradicts(parts: Sequence[Rex]) -> bool:
    """Return whether conditions exclude each other, whatever the values of their columns are."""
    repeatable = [part for part in parts if is_repeatable(part)]
    excluded = {other for part in repeatable for other in _excluded(part)}
    return not excluded.isdisjoint(repeatable) or _compare_differently(repeatable)


def _excluded(part: Rex) -> list[Rex]:
    """Return conditions that are not TRUE where a condition is."""
    others: list[Rex] = [_not(part), *_tests(part, "IS NOT TRUE", "IS NULL", "IS UNKNOWN")]
    if isinstance(part, Call) and part.function == "NOT":
        others += _tests(part.operands[0], "IS NOT FALSE", "IS NULL", "IS UNKNOWN")
    return others


def _tests(rex: Rex, *names: str) -> list[Rex]:
    return [Call(name, (rex,), BooleanType(False)) for name in names]


def _compare_differently(parts: Sequence[Rex]) -> bool:
    possible = dict[tuple[Rex, Rex], set[str]]()
    for part in parts:
        if isinstance(part, Call) and part.function in _OUTCOMES:
            first, second, outcomes = *part.operands, set(_OUTCOMES[part.function])
            if (second, first) in possible:
                first, second, outcomes = second, first, set(_OUTCOMES[_MIRRORED[part.function]])
            possible[first, second] = possible.get((first, second), outcomes) & outcomes
    return not all(possible.values())
