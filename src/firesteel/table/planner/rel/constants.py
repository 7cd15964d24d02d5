"""Expressions without columns, computed while a statement is planned. Calcite: `ReduceExpressionsRule`."""

from __future__ import annotations

from typing import ClassVar

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import AtomicType
from firesteel.columns.evaluate import CompiledRex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.json_functions import JSON_OPTION
from firesteel.columns.functions.registry import find_function
from firesteel.columns.lazy_calls import LAZY
from firesteel.columns.rex import Call, Literal, Rex, UserCall
from firesteel.columns.values import to_python
from firesteel.table.planner.rel.rex_tools import with_operands

__all__ = ["ONE_ROW", "folded"]

ONE_ROW = ColumnBatch((), 1)


class _SettingsNeededError(Exception):
    """An expression depends on the settings of its job, such as the time zone."""


class _NoSettings(EvaluationContext):
    """A context that refuses to give the settings of the job, which a plan does not know yet."""

    _HIDDEN: ClassVar[frozenset[str]] = frozenset(EvaluationContext.__dataclass_fields__) | {"now_us"}

    def __getattribute__(self, name: str) -> object:
        if name in _NoSettings._HIDDEN:
            raise _SettingsNeededError
        return super().__getattribute__(name)


_NO_SETTINGS = _NoSettings()


def folded(rex: Rex) -> Rex:
    """Return an expression with the values of its parts that are constant.

    A part that fails, such as 1 / 0, stays: its rows fail when they are computed.
    """
    if not isinstance(rex, Call | UserCall):
        return rex
    result = with_operands(rex, tuple(map(folded, rex.operands)))
    value = _value(result) if isinstance(result, Call) and _is_constant(result) else None
    return result if value is None else value


def _is_constant(call: Call) -> bool:
    """Return whether a call of constants has one value, wherever and whenever it is computed."""
    if call.function == JSON_OPTION:
        return False  # a clause of a JSON function, which is no value
    if not (isinstance(call.type, AtomicType) and all(map(_is_value, call.operands))):
        return False
    function = find_function(call.function)
    if function is None:
        return call.function in LAZY
    return function.deterministic and not function.momentary(call.operands)


def _is_value(rex: Rex) -> bool:
    return isinstance(rex, Literal) and isinstance(rex.type, AtomicType)


def _value(rex: Rex) -> Literal | None:
    try:
        (value,) = to_python(CompiledRex(rex, _NO_SETTINGS)(ONE_ROW), rex.type)
    except Exception:  # of any function, whose rows fail then
        return None
    return Literal(value, rex.type)
