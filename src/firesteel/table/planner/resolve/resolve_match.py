"""MATCH_RECOGNIZE: patterns over rows in the order of time. Flink: `StreamPhysicalMatch`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from firesteel.columns.column_types import BooleanType, DataType, NullType, TimestampType
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.kernels.match.match_pattern import Pattern, steps_of
from firesteel.columns.rex import Call, InputRef, Literal, Rex, UserCall, constant
from firesteel.columns.type_families import TIMESTAMPS
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_time
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import row_type, transform, walk
from firesteel.table.planner.resolve.group_calls import check_arguments
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.unresolved import Apply, Lit, Ref, Star, Unresolved, where

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.resolve.resolve_queries import ResolveContext

_NAVIGATION = ("FIRST", "LAST")


_UNTYPED = NullType()
"""The type of names and flags among the operands of a call, which are no values."""


class MatchResolver(ExpressionResolver):
    """A resolver of expressions over pattern variables: `A.x` is a call of MATCH_REF with the variable's name."""

    def __init__(self, scope: Scope, catalogs: CatalogManager, variables: set[str], time: DataType) -> None:
        super().__init__(scope, catalogs)
        self._variables = variables
        self._time = time

    def _ref(self, ref: Ref) -> Rex:
        if len(ref.path) > 1 and ref.path[0] in self._variables:
            column = self.scope.find(Ref(ref.path[1:], ref.position))
            return Call("MATCH_REF", (Literal(ref.path[0], _UNTYPED), column), column.type.nullable())
        column = self.scope.find(ref)
        return Call("MATCH_REF", (Literal("*", _UNTYPED), column), column.type.nullable())

    def _apply(self, call: Apply) -> Rex:
        name = str(call.function).upper()
        if name in ("MATCH_ROWTIME", "MATCH_PROCTIME"):
            kind = self._time
            attribute: DataType = type(kind)(3, False, kind=kind.kind) if is_time(kind) else TimestampType(3, False)
            return Call(name, (), attribute)
        if name in ("PREV", "NEXT"):
            raise TableException("Flink does not support physical offsets within partition.")
        if name in _NAVIGATION:
            _check_offset(name, call.operands[1:])
            operand, *offset = (self.resolve(operand) for operand in call.operands)
            return _of_one_row(name, operand, tuple(offset))
        aggregate = find_aggregate(name)
        if aggregate is not None:
            _check_clauses(name, call)
            first = call.operands[0] if call.operands else None
            operands = () if isinstance(first, Star) else tuple(self.resolve(operand) for operand in call.operands)
            star = first.qualifier if isinstance(first, Star) else ()
            check_arguments(name, operands, None)
            if len({variable for operand in operands for variable in _variables(operand)}) > 1:
                raise ValidationException(f"SQL validation failed. Multiple pattern variables in {name}")
            if any(part.function in _NAVIGATION for operand in operands for part in _calls(operand)):
                raise ValidationException(f"firesteel does not support FIRST and LAST in an aggregate, as in {name}")
            try:
                kind = aggregate.resolve([o.type for o in operands], False)
            except FunctionError as error:
                raise ValidationException(f"SQL validation failed. {error}") from error
            variable = Literal(star[0] if star else "*", _UNTYPED)
            return Call(f"AGGREGATE {name}", (variable, *operands), kind)
        return super()._apply(call)


def _check_clauses(name: str, call: Apply) -> None:
    """Refuse the clauses of a call that Flink has in GROUP BY alone."""
    if call.distinct:
        shown = ", ".join(_path(operand) for operand in call.operands)
        raise ValidationException(
            f"SQL validation failed. {where(call.position)}DISTINCT/ALL not allowed with {name}(DISTINCT {shown}) "
            "function"
        )
    if call.condition is not None:
        raise TableException(f"Unsupported call: FILTER after {name} in MATCH_RECOGNIZE")
    if call.order_by:
        raise TableException(f"Unsupported call: ORDER BY in {name} in MATCH_RECOGNIZE")


def _path(operand: Unresolved) -> str:
    if not isinstance(operand, Ref):
        return "..."
    path = operand.path if len(operand.path) > 1 else ("*", *operand.path)
    return ".".join(f"`{name}`" for name in path)


def _check_offset(name: str, offsets: Sequence[Unresolved]) -> None:
    for offset in offsets:
        if not (isinstance(offset, Lit) and isinstance(offset.value, int) and offset.value >= 0):
            raise ValidationException(f"SQL validation failed. {name} goes a constant number of rows, not {offset!r}")


def _of_one_row(name: str, rex: Rex, offset: tuple[Rex, ...]) -> Rex:
    """Return an expression over columns of one row. Calcite: `SqlValidatorImpl.NavigationExpander`."""
    if isinstance(rex, Literal):
        return rex
    calls = _calls(rex)
    if any(part.function in _NAVIGATION for part in calls):
        raise ValidationException(f"SQL validation failed. Cannot nest PREV/NEXT under LAST/FIRST, as in {name}")
    if any(part.function.startswith("AGGREGATE ") for part in calls):
        raise ValidationException(f"SQL validation failed. Cannot use aggregation in navigation, as in {name}")
    variables = _variables(rex)
    if len(variables) != 1:
        problem = "Multiple pattern variables" if variables else "Null parameters"
        raise ValidationException(f"SQL validation failed. {problem} in {name}, which is about a row of one variable")

    def navigated(part: Rex) -> Rex | None:
        is_reference = isinstance(part, Call) and part.function == "MATCH_REF"
        return Call(name, (part, *offset), part.type) if is_reference else None

    return transform(rex, navigated)


def _variables(rex: Rex) -> set[object]:
    return {constant(part.operands[0]) for part in _calls(rex) if part.function == "MATCH_REF"}


def _calls(rex: Rex) -> list[Call]:
    return [part for part in walk(rex) if isinstance(part, Call)]


_CONTAINERS = ("concat", "or", "permute")


def _parts(pattern: Pattern) -> list[Pattern]:
    inner = pattern[1]
    parts = inner if pattern[0] in _CONTAINERS and isinstance(inner, tuple) else (inner,)
    return [part for part in parts if isinstance(part, tuple)]


def variables_of(pattern: Pattern) -> list[str]:
    """Return the variables of a pattern, in order."""
    if pattern[0] == "var":
        return [str(pattern[1])]
    found: list[str] = []
    for part in _parts(pattern):
        found += [name for name in variables_of(part) if name not in found]
    return found


def resolve_match(query: q.MatchRecognize, node: Rel, scope: Scope, context: ResolveContext) -> rel.Match:
    """Return the node of MATCH_RECOGNIZE.

    Raises:
        ValidationException: the clause is not one that Flink takes.
    """
    _check(query)
    plain = ExpressionResolver(scope, context.catalogs)
    partition = [_index(plain.resolve(e), "PARTITION BY") for e in query.partition_by]
    order = tuple(
        rel.Collation(_index(plain.resolve(o.expression), "ORDER BY"), o.descending, not o.descending)
        for o in query.order_by
    )
    if not order:
        raise ValidationException("You must specify either rowtime or proctime for order by.")
    time = node.row_type.fields[order[0].index].data_type
    if not isinstance(time, TIMESTAMPS):
        raise ValidationException("SQL validation failed. First column of ORDER BY must be of type TIMESTAMP")
    variables = set(variables_of(query.pattern)) | {name for name, _ in query.subsets}
    if len(query.after) > 1 and query.after[1] not in variables:
        raise ValidationException(f"SQL validation failed. Unknown pattern '{query.after[1]}'")
    resolver = MatchResolver(scope, context.catalogs, variables, time)
    define = tuple((name, _condition(resolver.resolve(expression), name)) for name, expression in query.define)
    unknown = [name for name, _ in define if name not in variables]
    if unknown:
        raise ValidationException(f"SQL validation failed. Pattern variable '{unknown[0]}' not defined in PATTERN")
    measures = []
    for item in query.measures:
        rex = resolver.resolve(item.expression)
        measures.append(rel.Measure(item.names[0], rex, rex.type))
    rexes = [rex for _, rex in define] + [measure.expression for measure in measures]
    if any(isinstance(part, UserCall) for rex in rexes for part in walk(rex)):
        raise TableException("Python Function can not be used in MATCH_RECOGNIZE for now.")
    names = [node.row_type.names[i] for i in partition] + [m.name for m in measures]
    twice = [name for number, name in enumerate(names) if name in names[:number]]
    if twice:
        raise ValidationException(f"Columns ambiguously defined: {{{', '.join(twice)}}}")
    types = [node.row_type.fields[i].data_type for i in partition] + [m.type for m in measures]
    return rel.Match(
        node,
        tuple(partition),
        order,
        query.pattern,
        define,
        tuple(measures),
        query.after,
        _within(query.within),
        row_type(names, types),
        query.subsets,
    )


def _check(query: q.MatchRecognize) -> None:
    if query.all_rows:
        raise ValidationException("All rows per match mode is not supported yet.")
    if query.pattern[0] == "anchored":  # Flink reads them and finds the matches of the pattern without them
        raise ValidationException("The anchors ^ and $ of a PATTERN are not supported; matches begin at any row.")
    if _has(query.pattern, "exclude"):
        raise ValidationException("Currently, CEP doesn't support {- -} patterns.")
    if _has(query.pattern, "permute"):
        raise ValidationException("Currently, CEP doesn't support PERMUTE patterns.")
    if _has(query.pattern, "or"):
        raise ValidationException("Currently, CEP doesn't support branching patterns.")
    try:
        steps = steps_of(query.pattern)
    except ValueError as error:
        raise TableException(str(error)) from error
    if len({step.name for step in steps}) < len(steps):
        raise TableException("Pattern variables must be unique. That might change in the future.")
    for step in steps:
        if step.high is not None and step.high < max(step.low, 1):
            raise TableException(
                f"The to should be a number greater than or equal to from: {max(step.low, 1)}, found {step.high}"
            )
    if all(step.low == 0 for step in steps):
        raise TableException(
            "Patterns that can produce empty matches are not supported. There must be at least one non-optional state."
        )
    if any((step.low, step.high) == (0, 1) and not step.greedy for step in steps):
        raise TableException("Reluctant optional variables are not supported yet.")
    if any(step.low == 0 and step.high in (1, None) and before.is_greedy_loop for before, step in pairwise(steps)):
        raise TableException("Optional pattern cannot be preceded by greedy pattern")
    if steps[-1].is_greedy_loop:
        raise TableException(
            "Greedy quantifiers are not allowed as the last element of a Pattern yet. Finish your pattern with either "
            "a simple variable or reluctant quantifier."
        )


def _has(pattern: Pattern, kind: str) -> bool:
    if pattern[0] == kind:
        return True
    return any(_has(part, kind) for part in _parts(pattern))


def _index(rex: Rex, clause: str) -> int:
    if not isinstance(rex, InputRef):
        raise ValidationException(f"SQL validation failed. {clause} of MATCH_RECOGNIZE takes columns")
    return rex.index


def _condition(rex: Rex, name: str) -> Rex:
    if not isinstance(rex.type, BooleanType):
        raise ValidationException(f"SQL validation failed. DEFINE clause of '{name}' must be a condition")
    return rex


def _within(expression: object) -> int | None:
    if expression is None:
        return None
    value = getattr(expression, "value", None)
    if not isinstance(value, datetime.timedelta):
        raise ValidationException(
            "Only constant intervals with millisecond resolution are supported as time constraints"
        )
    if value < datetime.timedelta():
        raise ValidationException("SQL validation failed. Interval must be non-negative")
    return value // datetime.timedelta(milliseconds=1) or None  # of 0 ms there is no limit, as in Flink
