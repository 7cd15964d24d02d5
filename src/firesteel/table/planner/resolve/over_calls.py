"""The OVER calls of a SELECT: functions over the rows around each row."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, floor
from typing import TYPE_CHECKING

from firesteel.columns.column_types import BigIntType, DataType, DoubleType, IntegralType, NumericType
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.rex import Deferred, InputRef, Literal, Rex, SubqueryValue, UserFunction
from firesteel.columns.type_rules import common_type
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import extended
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import refs, row_type, subqueries_in, transform, unique_names, walk
from firesteel.table.planner.resolve.arguments import cast, declared_arguments
from firesteel.table.planner.resolve.group_calls import check_arguments
from firesteel.table.planner.resolve.over_checks import (
    NAVIGATION,
    RANKINGS,
    check_call,
    check_frame,
    check_reference,
    check_time_order,
)
from firesteel.table.planner.resolve.unresolved_tools import user_function
from firesteel.table.syntax.unresolved import UNBOUNDED, Apply, Bound, Lit, OverCall, Star, WindowSpec

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
    from firesteel.table.planner.resolve.resolve_queries import ResolveContext


@dataclass(frozen=True, slots=True)
class _Over:
    """One OVER call, its expressions over the source."""

    function: str | UserFunction
    arguments: tuple[Rex, ...]
    type: DataType
    distinct: bool
    partition: tuple[Rex, ...]
    order: tuple[tuple[Rex, bool, bool], ...]
    frame: rel.Frame

    @property
    def inputs(self) -> tuple[Rex, ...]:
        """What the call reads of each row."""
        return (*self.arguments, *self.partition, *(rex for rex, _, _ in self.order))


_Groups = dict[tuple[tuple[int, ...], tuple[rel.Collation, ...], rel.Frame], list[tuple[int, rel.AggregateCall]]]
"""The calls, with their numbers, by partition, order and frame."""


class OverCalls:
    """A collector of OVER calls, which are computed by one node.

    Args:
        windows: The named windows of the WINDOW clause.
        context: Finds the user's functions.
    """

    def __init__(self, windows: tuple[tuple[str, WindowSpec], ...], context: ResolveContext) -> None:
        self._windows = dict(windows)
        self._context = context
        self._calls: list[_Over] = []

    def add(self, call: OverCall, resolver: ExpressionResolver) -> Rex:
        """Add a call and return the reference to its result."""
        spec = self._spec(call.window)
        inner: Apply = call.call
        function: str | UserFunction = inner.function
        if isinstance(function, str):
            function = user_function(inner, self._context.catalogs) or function.upper()
        operands = [o for o in inner.operands if not isinstance(o, Star)]
        arguments = tuple(resolver.resolve(operand) for operand in operands)
        if not isinstance(function, str):
            arguments = declared_arguments(function, arguments, inner.position)
        if inner.condition is not None:
            raise ValidationException("SQL validation failed. OVER must be applied to aggregate function, not a FILTER")
        order = tuple(
            (
                resolver.resolve(o.expression),
                o.descending,
                (not o.descending) if o.nulls_first is None else o.nulls_first,
            )
            for o in spec.order_by
        )
        if isinstance(function, str):
            check_call(function, inner, arguments)
            arguments = _with_default(function, arguments)
        check_time_order(spec, [rex for rex, _, _ in order])
        check_frame(function if inner.position else None, spec, [rex for rex, _, _ in order])
        made = _Over(
            function,
            arguments,
            _type_of(function, arguments, spec),
            inner.distinct,
            tuple(resolver.resolve(e) for e in spec.partition_by),
            order,
            _frame(spec, [rex.type for rex, _, _ in order]),
        )
        if made not in self._calls:
            self._calls.append(made)
        return Deferred(("over", self._calls.index(made)), made.type)

    def _spec(self, window: WindowSpec | str) -> WindowSpec:
        name = window.name if isinstance(window, WindowSpec) else window
        if name is None:
            assert isinstance(window, WindowSpec)
            return window
        if name not in self._windows:
            raise ValidationException(f"SQL validation failed. Window '{name}' not found")
        base = self._spec(self._windows[name])
        if isinstance(window, WindowSpec):
            check_reference(window, base)
        if not isinstance(window, WindowSpec) or window == WindowSpec(name=name):
            return base
        return replace(window, name=None, partition_by=base.partition_by, order_by=window.order_by or base.order_by)

    def replace(self, place: Callable[[Rex], Rex | None]) -> None:
        """Replace parts of all expressions."""
        self._calls = [
            replace(
                call,
                arguments=tuple(transform(a, place) for a in call.arguments),
                partition=tuple(transform(p, place) for p in call.partition),
                order=tuple((transform(r, place), d, n) for r, d, n in call.order),
            )
            for call in self._calls
        ]

    def attach(self, node: Rel, rexes: list[Rex]) -> tuple[Rel, list[Rex]]:
        """Return the node with the calls' columns, and the expressions that refer to them."""
        if not self._calls:
            return node, rexes
        node, rexes = self._beside_subqueries(node, rexes)
        columns = list(refs(node.row_type))
        extra: list[Rex] = []

        def column(rex: Rex) -> int:
            known = [*columns, *extra]
            if rex in known:
                return known.index(rex)
            extra.append(rex)
            return len(known)

        groups: _Groups = {}
        for number, call in enumerate(self._calls):
            order = tuple(rel.Collation(column(r), d, n) for r, d, n in call.order)
            key = (tuple(column(p) for p in call.partition), order, call.frame)
            arguments = tuple(column(a) for a in call.arguments)
            made = rel.AggregateCall(call.function, arguments, call.type, call.distinct)
            groups.setdefault(key, []).append((number, made))
        node = extended(node, extra, "$o")
        return self._node(node, groups, rexes)

    def _beside_subqueries(self, node: Rel, rexes: list[Rex]) -> tuple[Rel, list[Rex]]:
        """Compute subqueries below the OVER calls, as Flink does, unless they read the result of one."""
        inputs = [rex for call in self._calls for rex in call.inputs]
        found = [value for value in dict.fromkeys(subqueries_in([*inputs, *rexes])) if not _is_deferred(value)]
        below = extended(node, list[Rex](found), "$s")
        places = dict(zip(found, refs(below.row_type)[len(node.row_type) :], strict=True))

        def place(rex: Rex) -> Rex | None:
            return places.get(rex) if isinstance(rex, SubqueryValue) else None

        self.replace(place)
        return below, [transform(rex, place) for rex in rexes]

    def _node(self, node: Rel, groups: _Groups, rexes: list[Rex]) -> tuple[Rel, list[Rex]]:
        width = len(node.row_type)
        places: dict[tuple[str | int, ...], int] = {}
        types: list[DataType] = []
        for calls in groups.values():
            for number, call in calls:
                places["over", number] = width + len(types)
                types.append(call.type)
        names = unique_names([*node.row_type.names, *(f"w0$o{i}" for i in range(len(types)))])
        kind = row_type(names, [*node.row_type.field_types(), *types])
        made = tuple(rel.OverGroup(key[0], key[1], key[2], tuple(c for _, c in calls)) for key, calls in groups.items())

        def place(rex: Rex) -> Rex | None:
            if isinstance(rex, Deferred) and rex.number in places:
                return InputRef(places[rex.number], rex.type)
            return None

        return rel.Over(node, made, kind), [transform(rex, place) for rex in rexes]


def _is_deferred(rex: Rex) -> bool:
    return any(isinstance(part, Deferred) for part in walk(rex))


def _with_default(function: str, arguments: tuple[Rex, ...]) -> tuple[Rex, ...]:
    """Return the arguments of a function, with the default of LAG and LEAD in the type of the column."""
    if function not in NAVIGATION or len(arguments) < 3:
        return arguments
    value, offset, default = arguments
    kind = common_type([value.type, default.type])
    if kind is None:
        raise ValidationException(f"SQL validation failed. {function} needs a default of the column's type")
    is_number = isinstance(kind, NumericType)
    return value, offset, cast(default, value.type if is_number else kind)


def _type_of(function: str | UserFunction, arguments: tuple[Rex, ...], spec: WindowSpec) -> DataType:
    if not isinstance(function, str):
        return function.result_type
    if function in RANKINGS:
        return DoubleType(False) if function in ("PERCENT_RANK", "CUME_DIST") else BigIntType(False)
    if function in NAVIGATION:
        # Flink's type is NOT NULL with a default that is, even if the column has NULLs.
        return arguments[0].type.with_nullable(len(arguments) < 3 or any(arguments[i].type.is_nullable for i in (0, 2)))
    aggregate = find_aggregate(function)
    if aggregate is None:
        raise ValidationException(f"SQL validation failed. OVER must be applied to aggregate function, not {function}")
    types = [argument.type for argument in arguments]
    check_arguments(function, arguments, None)
    try:
        may_be_empty = any(_is_bounded(bound) for bound in (spec.preceding, spec.following))
        return aggregate.resolve(types, True, may_be_empty)
    except FunctionError as error:
        raise ValidationException(f"SQL validation failed. {error}") from error


def _is_bounded(bound: Bound | None) -> bool:
    """Return whether a bound is a number or an interval; Calcite takes such a frame for one that may be empty."""
    return bound is not None and bound[0] != "CURRENT" and bound[1] != UNBOUNDED


def _frame(spec: WindowSpec, order: Sequence[DataType]) -> rel.Frame:
    if spec.frame is None:
        whole = not spec.order_by
        return rel.Frame(False, None, None if whole else 0)
    is_rows = spec.frame == "ROWS"
    low, high = _bound(spec.preceding, is_rows), _bound(spec.following, is_rows)
    if order and isinstance(order[0], IntegralType):  # Whole numbers have whole distances.
        return rel.Frame(is_rows, None if low is None else ceil(low), None if high is None else floor(high))
    return rel.Frame(is_rows, low, high)


def _bound(bound: Bound | None, is_rows: bool) -> float | None:
    """Return an offset in rows or milliseconds, before the current row negative; None: unbounded."""
    assert bound is not None
    word, amount = bound
    if word == "CURRENT":
        return 0
    if amount == UNBOUNDED:
        return None
    value = amount.value if isinstance(amount, Lit | Literal) else None
    if isinstance(value, datetime.timedelta) and not is_rows:
        value = value // datetime.timedelta(milliseconds=1)
    if isinstance(value, Decimal) and not is_rows and Decimal(repr(float(value))) == value:
        value = float(value)
    if not isinstance(value, int | float):
        raise ValidationException(
            f"SQL validation failed. {'ROWS' if is_rows else 'RANGE'} takes a constant "
            f"{'number' if is_rows else 'number or interval'} as its bound, found {amount!r}"
        )
    return -value if word == "PRECEDING" else value
