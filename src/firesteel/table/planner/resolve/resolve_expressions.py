"""Resolution of expressions: columns, functions, implicit casts. Calcite: `SqlToRelConverter`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from typing import TYPE_CHECKING, ClassVar

from firesteel.columns.cast_rules import can_cast
from firesteel.columns.column_types import (
    MAX_LENGTH,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    NullType,
    NumericType,
    TimestampType,
    TimeType,
    VarCharType,
    YearMonthIntervalType,
)
from firesteel.columns.functions.aggregates import aggregate_names, find_aggregate
from firesteel.columns.functions.comparison import comparable_types
from firesteel.columns.functions.definition_names import sql_name
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.null_operands import takes_null
from firesteel.columns.functions.registry import find_function, function_names
from firesteel.columns.functions.table_api_types import table_api_type
from firesteel.columns.rex import Call, Deferred, InputRef, Literal, Rex, SubqueryValue, UserCall, UserFunction
from firesteel.columns.type_families import DAY_TIME, INTERVALS, STRINGS, YEAR_MONTH
from firesteel.columns.type_rules import common_type
from firesteel.columns.type_text import type_text
from firesteel.common.folding import fold_in_groups
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.resolve.arguments import cast, declared_arguments
from firesteel.table.planner.resolve.scope import Scope, illegal_null
from firesteel.table.planner.resolve.unresolved_tools import user_function
from firesteel.table.syntax.unresolved import (
    Alias,
    Apply,
    Lit,
    OverCall,
    Position,
    Ref,
    Star,
    Subquery,
    TypeName,
    Unresolved,
    constant,
    named_type,
    where,
)

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager

WINDOW_STARTS = {
    "TUMBLE_START": "start",
    "HOP_START": "start",
    "SESSION_START": "start",
    "TUMBLE_END": "end",
    "HOP_END": "end",
    "SESSION_END": "end",
    "TUMBLE_ROWTIME": "rowtime",
    "HOP_ROWTIME": "rowtime",
    "SESSION_ROWTIME": "rowtime",
    "TUMBLE_PROCTIME": "proctime",
    "HOP_PROCTIME": "proctime",
    "SESSION_PROCTIME": "proctime",
    "WINDOW_START": "start",
    "WINDOW_END": "end",
    "WINDOW_ROWTIME": "rowtime",
    "WINDOW_PROCTIME": "proctime",
}


class ExpressionResolver:
    """A resolver of expressions against a scope.

    Args:
        scope: The columns.
        catalogs: Finds the user's functions.
        subquery: Resolves a subquery, given the value before it; None if subqueries are not allowed here.
    """

    def __init__(
        self,
        scope: Scope,
        catalogs: CatalogManager | None,
        subquery: Callable[[Subquery, Rex | None], Rex] | None = None,
    ) -> None:
        self.scope = scope
        self.catalogs = catalogs
        self._subquery = subquery

    def resolve(self, expression: Unresolved) -> Rex:
        """Return the typed expression.

        Raises:
            ValidationException: a name is unknown, or types do not fit.
        """
        match expression:
            case InputRef() | Deferred() | Literal() | Call() | UserCall() | SubqueryValue():
                return expression
            case Ref():
                return self._ref(expression)
            case Lit():
                return self._literal(expression)
            case Alias():
                return self._alias(expression)
            case Apply():
                return self._apply(expression)
            case OverCall():
                return self._over(expression)
            case Subquery():
                return self._sub(expression)
            case TypeName():
                return Literal(expression.type, NullType())
        raise ValidationException(f"SQL validation failed. {expression!r} is not an expression that is allowed here")

    def _ref(self, ref: Ref) -> Rex:
        return self.scope.find(ref)

    def _literal(self, literal: Lit) -> Rex:
        kind = literal.type if literal.type is not None else type_of_literal(literal.value)
        # The unit of an interval is only its notation.
        if isinstance(kind, DayTimeIntervalType):
            kind = DAY_TIME.with_nullable(kind.is_nullable)
        elif isinstance(kind, YearMonthIntervalType):
            kind = YEAR_MONTH.with_nullable(kind.is_nullable)
        return Literal(literal.value, kind)

    def _alias(self, alias: Alias) -> Rex:
        return self.resolve(alias.expression)

    def _over(self, call: OverCall) -> Rex:
        raise ValidationException("SQL validation failed. OVER calls are only allowed in SELECT and ORDER BY")

    def _sub(self, subquery: Subquery) -> Rex:
        if self._subquery is None:
            raise ValidationException("SQL validation failed. A subquery is not allowed here")
        operand = None if subquery.operand is None else self.resolve(subquery.operand)
        return self._subquery(subquery, operand)

    def _apply(self, call: Apply) -> Rex:
        if call.distinct:
            _check_aggregate(call)
        if not isinstance(call.function, str):
            return self._user_call(call.function, call)
        function = user_function(call, self.catalogs)
        if function is not None:
            return self._user_call(function, call)
        if call.named and call.position is None:
            call = replace(call, function=sql_name(call.function) or call.function)
        name = str(call.function).upper()
        special = self._special.get(name)
        if special is not None:
            return special(self, call)
        if name in WINDOW_STARTS:
            raise ValidationException(
                f"SQL validation failed. {where(call.position)}{name} must be used with its window in GROUP BY"
            )
        if Star() in call.operands and find_function(name) is None and find_aggregate(name) is None:
            raise _unknown(str(call.function), "*", call.position)
        operands = tuple(self.resolve(operand) for operand in call.operands)
        if call.position is None:
            return self._call_in_table_api(name, operands, call)
        return self.call(name, operands, call)

    def _call_in_table_api(self, name: str, operands: tuple[Rex, ...], call: Apply) -> Rex:
        types = [operand.type for operand in operands]
        name, operands = _as_in_table_api(name, operands)
        made = self.call(name, operands, call)
        if not isinstance(made, Call):
            return made
        return replace(made, type=table_api_type(made.function, types, made.type))

    def call(self, name: str, operands: tuple[Rex, ...], call: Apply | None = None) -> Rex:
        """Return the call of a library function, with operands cast to its parameter types."""
        position = None if call is None else call.position
        function = find_function(name)
        if function is None:
            if find_aggregate(name) is not None:
                raise ValidationException(
                    f"SQL validation failed. {where(position)}Aggregate expression {name} is illegal here"
                )
            families = ", ".join(f"<{_family(o.type)}>" for o in operands)
            raise _unknown(str(name if call is None else call.function), families, position)
        # Field by field, as a row with one NULL is unequal to another if a known field differs, and unknown if none
        # does.
        if name in ("=", "<>") and (pairs := _pairs_of_rows(operands)):
            equal = self._all([self.call("=", pair, call) for pair in pairs])
            return equal if name == "=" else self.call("NOT", (equal,))
        if position is not None:
            _refuse_nulls(function.name, operands, position)
        try:
            types, result = function.resolve([operand.type for operand in operands], operands)
        except FunctionError as error:
            raise ValidationException(f"SQL validation failed. {where(position)}{error}") from error
        cast_operands = tuple(cast(o, t) for o, t in zip(operands, types, strict=True))
        return Call(function.name, cast_operands, result)

    def _all(self, conditions: list[Rex]) -> Rex:
        return conditions[0] if len(conditions) == 1 else self.call("AND", tuple(conditions))

    def _user_call(self, function: UserFunction, call: Apply) -> Rex:
        operands: list[Rex] = []
        for operand in call.operands:
            if isinstance(operand, Star):
                operands += [rex for _, rex in self.scope.star(operand.qualifier)]
            else:
                operands.append(_decimal_constant(self.resolve(operand)))
        arguments = declared_arguments(function, tuple(operands), call.position)
        return UserCall(function, arguments, function.result_type)

    def _cast(self, call: Apply) -> Rex:
        value, target = self.resolve(call.operands[0]), named_type(call.operands[1])
        is_try = call.function == "TRY_CAST"
        if not can_cast(value.type, target) and not isinstance(value.type, NullType):
            is_count = isinstance(value.type, NumericType) and isinstance(target, INTERVALS)
            hint = "; multiply an interval, as in x * INTERVAL '1' DAY" if is_count else ""
            raise ValidationException(
                f"SQL validation failed. {where(call.position)}Cast function cannot convert value of type "
                f"{type_text(value.type.nullable())} to type {type_text(target.nullable())}{hint}"
            )
        nullable = value.type.is_nullable or is_try
        return Call(str(call.function), (value,), target.nullable() if nullable else target.not_null())

    def _between(self, call: Apply) -> Rex:
        value, low, high = call.operands
        position = call.position

        def range_of(low: Unresolved, high: Unresolved) -> Apply:
            bounds = (Apply(">=", (value, low), position=position), Apply("<=", (value, high), position=position))
            return Apply("AND", bounds, position=position)

        if call.function == "BETWEEN SYMMETRIC":
            return self.resolve(Apply("OR", (range_of(low, high), range_of(high, low)), position=position))
        return self.resolve(range_of(low, high))

    def _not_between(self, call: Apply) -> Rex:
        value, low, high = call.operands
        return self.resolve(Apply("OR", (Apply("<", (value, low)), Apply(">", (value, high))), position=call.position))

    def _chain(self, call: Apply) -> Rex:
        """Return AND or OR of two operands or more."""
        joined = self._call_in_table_api if call.position is None else self.call
        name, parts = str(call.function).upper(), [self.resolve(operand) for operand in call.operands]
        return fold_in_groups(lambda left, right: joined(name, (left, right), call), parts)

    def _in(self, call: Apply) -> Rex:
        """`x IN (a, b)`: the operands in one type."""
        operands = [self.resolve(operand) for operand in call.operands]
        if all(_pairs_of_rows((operands[0], other)) for other in operands[1:]):
            found = [self.call("=", (operands[0], other), call) for other in operands[1:]]
            return found[0] if len(found) == 1 else self.call("OR", tuple(found))
        types = [operand.type for operand in operands]
        if isinstance(types[0], FloatType) and all(isinstance(kind, NumericType) for kind in types):
            types = types[:1]  # 0.7 is in (0.7), which no DOUBLE of a FLOAT is
        try:
            kind = common_type(types) or comparable_types("IN", types)[0]
        except FunctionError as error:
            raise ValidationException(f"SQL validation failed. {where(call.position)}{error}") from error
        nullable = any(operand.type.is_nullable for operand in operands)
        return Call("IN", tuple(cast(o, kind.nullable()) for o in operands), BooleanType(nullable))

    def _nullif(self, call: Apply) -> Rex:
        """`NULLIF(a, b)` is `CASE WHEN a = b THEN NULL ELSE a END`."""
        operands = tuple(self.resolve(operand) for operand in call.operands)
        made = self.call("NULLIF", operands, call)
        is_equal = self.call("=", operands)
        return Call("CASE", (is_equal, Literal(None, made.type), cast(operands[0], made.type)), made.type)

    def _negate(self, call: Apply) -> Rex:
        operand = self.resolve(call.operands[0])
        return self.call("NEGATE", (operand,), call)

    def _dot(self, call: Apply) -> Rex:
        """Return a field of a row, by name or (Table API: `get(0)`) by index; `flatten` is the planner's."""
        row, field = self.resolve(call.operands[0]), constant(call.operands[1])
        names = getattr(row.type, "names", None)
        if names is None or (isinstance(field, str) and field not in names):
            raise ValidationException(f"SQL validation failed. {where(call.position)}Unknown field '{field}'")
        from firesteel.table.planner.resolve.scope import field_access

        return field_access(row, names[field] if isinstance(field, int) else str(field))

    def _distinct(self, call: Apply) -> Rex:
        raise ValidationException(_NO_AGGREGATE)

    def _over_nothing(self, call: Apply) -> Rex:
        raise ValidationException("over() needs a call of a function before it, such as col('amount').sum")

    _special: ClassVar[dict[str, Callable[[ExpressionResolver, Apply], Rex]]] = {
        "CAST": _cast,
        "TRY_CAST": _cast,
        "DISTINCT": _distinct,
        "OVER": _over_nothing,
        "AND": _chain,
        "OR": _chain,
        "BETWEEN": _between,
        "NOT BETWEEN": _not_between,
        "BETWEEN SYMMETRIC": _between,
        "IN": _in,
        "NULLIF": _nullif,
        "DOT": _dot,
    }


_NO_AGGREGATE = "Distinct operator can only be applied to aggregation expressions!"


def _check_aggregate(call: Apply) -> None:
    """Check that a call with DISTINCT is one of an aggregate function.

    Raises:
        ValidationException: it is not.
    """
    name = call.function if isinstance(call.function, str) else call.function.name
    if find_aggregate(name.upper()) is not None:
        return
    if call.position is None:
        raise ValidationException(_NO_AGGREGATE)
    message = f"{where(call.position)}DISTINCT/ALL not allowed with {name.upper()} function"
    raise ValidationException(f"SQL validation failed. {message}")


def _refuse_nulls(function: str, operands: Sequence[Rex], position: Position) -> None:
    for index, operand in enumerate(operands):
        is_null = isinstance(operand, Literal) and isinstance(operand.type, NullType) and operand.value is None
        if is_null and not takes_null(function, index):
            raise illegal_null(where(position, function))


def _as_in_table_api(name: str, operands: tuple[Rex, ...]) -> tuple[str, tuple[Rex, ...]]:
    """Return the function that an operator of the Table API means, and its operands.

    `+` appends anything to a text, and texts are not compared with numbers. SQL casts such texts instead.

    Raises:
        ValidationException: a text is compared with a number or a boolean value.
    """
    texts = [isinstance(operand.type, STRINGS) for operand in operands]
    if name == "+" and texts[0]:
        return "||", tuple(cast(operand, VarCharType(MAX_LENGTH, operand.type.is_nullable)) for operand in operands)
    if name in ("=", "<>", "<", "<=", ">", ">=") and any(texts):
        other = operands[texts.index(False)].type if False in texts else None
        if isinstance(other, NumericType | BooleanType):
            a, b = (type_text(operand.type) for operand in operands)
            support = "'EQUALS'" if name in ("=", "<>") else "both 'EQUALS' and 'ORDER'"
            raise ValidationException(
                f"All types in a comparison should support {support} comparison with each other. Can not compare {a} "
                f"with {b}"
            )
    return name, operands


def _pairs_of_rows(operands: Sequence[Rex]) -> list[tuple[Rex, Rex]]:
    """Return what `(a, b) = (c, d)` compares, as its fields decide whether it is unknown; nothing for other values."""
    rows = [operand.operands for operand in operands if isinstance(operand, Call) and operand.function == "ROW"]
    return list(zip(*rows, strict=True)) if len(rows) == 2 and len(rows[0]) == len(rows[1]) else []


def type_of_literal(value: object) -> DataType:
    """Return Flink's type of a literal.

    Raises:
        ValidationException: there is no literal of such a value.
    """
    if value is None:
        return NullType()
    if isinstance(value, bool):
        return BooleanType(False)
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return IntType(False)
        return BigIntType(False) if -(2**63) <= value < 2**63 else DecimalType(len(str(abs(value))), 0, False)
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        scale = max(0, -int(exponent))
        return DecimalType(max(len(digits), scale), scale, False)
    if isinstance(value, float):
        return DoubleType(False)
    if isinstance(value, str):
        return CharType(len(value), False)
    if isinstance(value, bytes | bytearray):
        return BinaryType(max(1, len(value)), False)
    if isinstance(value, datetime.datetime):
        return TimestampType(6 if value.microsecond % 1000 else 3 if value.microsecond else 0, False)
    for kind, make in (
        (datetime.date, lambda: DateType(False)),
        (datetime.time, lambda: TimeType(0, False)),
        (
            datetime.timedelta,
            lambda: DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND, 2, 3, False),
        ),
    ):
        if isinstance(value, kind):
            return make()
    raise ValidationException(f"{value!r} of type {type(value).__name__} can't be a literal")


def _unknown(function: str, families: str, position: Position | None) -> ValidationException:
    """Return the error for a function that does not exist."""
    near = get_close_matches(function.upper(), {*function_names(), *aggregate_names()}, 1, cutoff=0.75)
    hint = f"; did you mean {near[0]}?" if near else ""
    return ValidationException(
        f"SQL validation failed. {where(position, function)}No match found for function signature "
        f"{function}({families}){hint}"
    )


def _decimal_constant(rex: Rex) -> Rex:
    """Return an argument; a function gets all digits of a constant that is cast to DECIMAL, as from Calcite.

    Calcite takes the cast away where the whole part of the number fits (`RexBuilder.makeCast`).
    """
    if not (isinstance(rex, Call) and rex.function == "CAST" and isinstance(rex.type, DecimalType)):
        return rex
    (value,) = rex.operands
    if not (isinstance(value, Literal) and isinstance(value.value, Decimal)):
        return rex
    fits = abs(value.value) < Decimal(10) ** (rex.type.precision - rex.type.scale)
    return value if fits else rex


_FAMILIES = {
    "TinyIntType": "NUMERIC",
    "SmallIntType": "NUMERIC",
    "IntType": "NUMERIC",
    "BigIntType": "NUMERIC",
    "FloatType": "NUMERIC",
    "DoubleType": "NUMERIC",
    "DecimalType": "NUMERIC",
    "CharType": "CHARACTER",
    "VarCharType": "CHARACTER",
    "BooleanType": "BOOLEAN",
    "DateType": "DATE",
    "TimeType": "TIME",
    "TimestampType": "TIMESTAMP",
}


def _family(kind: DataType) -> str:
    return _FAMILIES.get(type(kind).__name__, type(kind).__name__.removesuffix("Type").upper())
