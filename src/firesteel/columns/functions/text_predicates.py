"""IS_ALPHA, IS_DIGIT and IS_DECIMAL. Whether they hold for numbers, NULL among them, depends on the type alone."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.columns import column_types as t
from firesteel.columns.functions.cast_parsing import CastError, parse_double
from firesteel.columns.functions.function import CallSite, Function, per_row
from firesteel.columns.functions.signatures import BOOLEAN, signature
from firesteel.columns.type_families import APPROXIMATE


def _is_decimal(text: str) -> bool:
    try:
        parse_double(text)
    except CastError:
        return False
    return True


_PREDICATES: tuple[tuple[str, Callable[[str], bool], tuple[type[t.DataType], ...]], ...] = (
    ("IS_ALPHA", str.isalpha, ()),
    ("IS_DIGIT", str.isdecimal, (t.IntegralType,)),
    ("IS_DECIMAL", _is_decimal, (t.IntegralType, *APPROXIMATE)),
)
"""The test of a text, and the types of numbers for which it holds."""


def _predicate(name: str, test: Callable[[str], bool], numbers: tuple[type[t.DataType], ...]) -> Function:
    def make(call: CallSite) -> Callable[[object], bool]:
        if isinstance(call.types[0], t.NumericType):
            holds = isinstance(call.types[0], numbers)
            return lambda value: holds
        return lambda value: isinstance(value, str) and test(value)

    resolve = signature(name, BOOLEAN, "CHARACTER|NUMERIC", nullable=False)
    return Function(name, resolve, per_row(make, null_call=True))


FUNCTIONS = [_predicate(name, test, numbers) for name, test, numbers in _PREDICATES]
