"""The built-in aggregate functions: names, types and accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.functions import accumulators as acc
from firesteel.columns.functions import value_accumulators as values
from firesteel.columns.functions.accumulators import Accumulator
from firesteel.columns.functions.function_errors import cannot_apply, wrong_count
from firesteel.columns.functions.json_accumulators import JsonArrayAgg, JsonObjectAgg
from firesteel.columns.functions.json_values import check_json_types
from firesteel.columns.type_families import STRINGS
from firesteel.columns.type_rules import avg_type, sum_type

Types = Sequence[t.DataType]
_BIGINT = t.BigIntType(False)
_JSON = t.VarCharType(2000, False)
_NESTED = (t.ArrayType, t.MapType, t.MultisetType, t.RowType, t.RawType)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A built-in aggregate function.

    Attributes:
        name: Its name in SQL.
        counts: The allowed numbers of arguments.
        result: Returns the result type for the argument types, or None if the function does not accept them.
        make: Creates the accumulator from the argument types, the result type, and whether rows can be retracted.
        nullable_if_empty: Whether the result is NULL for no rows, and so nullable without GROUP BY or with FILTER.
        form: The signature that error messages show.
    """

    name: str
    counts: range
    result: Callable[[Types], t.DataType | None]
    make: Callable[[Types, t.DataType, bool], Accumulator]
    nullable_if_empty: bool
    form: str

    def resolve(self, operand_types: Types, grouped: bool = True, filtered: bool = False) -> t.DataType:
        """Return the type of the result.

        Args:
            operand_types: The types of the arguments.
            grouped: Whether the query has group keys, so that each group has at least one row.
            filtered: Whether the call has a FILTER clause.

        Raises:
            FunctionError: The function does not accept these arguments.
        """
        if len(operand_types) not in self.counts:
            expected = str(self.counts[0]) if len(self.counts) == 1 else f"{self.counts[0]} to {self.counts[-1]}"
            raise wrong_count(self.name, len(operand_types), expected)
        result = self.result(operand_types)
        if result is None:
            raise cannot_apply(self.name, operand_types, self.form)
        return result.nullable() if self.nullable_if_empty and (filtered or not grouped) else result

    def create(self, argument_types: Types, result_type: t.DataType, retracts: bool) -> Accumulator:
        """Return the accumulator; `retracts` tells whether rows can be retracted."""
        return self.make(argument_types, result_type, retracts)


def find_aggregate(name: str) -> Aggregate | None:
    """Return the aggregate function with this name (case-insensitive), or None.

    A clause is part of the name: `ARRAY_AGG IGNORE NULLS`, `JSON_ARRAYAGG NULL ON NULL`.
    """
    upper = name.upper().replace(" ", "_")
    return _AGGREGATES.get(_ALIASES.get(upper, upper))


def aggregate_names() -> list[str]:
    """Return the names of all aggregate functions."""
    return sorted([*_AGGREGATES, *_ALIASES])


def _count(types: Types) -> t.DataType:
    return _BIGINT


def _numeric(rule: Callable[[t.DataType], t.DataType]) -> Callable[[Types], t.DataType | None]:
    return lambda types: rule(types[0]) if isinstance(types[0], t.NumericType) else None


def _comparable(types: Types) -> t.DataType | None:
    return None if isinstance(types[0], _NESTED) else _first(types)


def _first(types: Types) -> t.DataType:
    data_type = types[0]
    if isinstance(data_type, (t.TimestampType, t.LocalZonedTimestampType)):
        return data_type.materialized()
    return data_type


def _string(types: Types) -> t.DataType | None:
    return types[0] if all(isinstance(data_type, (*STRINGS, t.NullType)) for data_type in types) else None


def _percentile(types: Types) -> t.DataType | None:
    percentage = types[1].element_type if isinstance(types[1], t.ArrayType) else types[1]
    if not isinstance(types[0], t.NumericType) or types[1].is_nullable or percentage.is_nullable:
        return None
    return t.ArrayType(t.DoubleType()) if isinstance(types[1], t.ArrayType) else t.DoubleType()


def _extreme(choose: Callable[..., Any]) -> Callable[[Types, t.DataType, bool], Accumulator]:
    def make(types: Types, result: t.DataType, retracts: bool) -> Accumulator:
        if not retracts:
            return values.Extreme(choose)
        is_float = isinstance(result, (t.FloatType, t.DoubleType))
        # `min` and `max` depend on the order of their arguments if one is NaN, and the order changes with retractions.
        return values.RetractableExtreme(partial(choose, key=_nan_last) if is_float else choose)

    return make


def _nan_last(value: float) -> tuple[bool, float]:
    return value != value, value


def _first_value(last: bool) -> Callable[[Types, t.DataType, bool], Accumulator]:
    return lambda types, result, retracts: values.RetractableFirstValue(last) if retracts else values.FirstValue(last)


def _sum(types: Types, result: t.DataType, retracts: bool) -> Accumulator:
    return acc.Sum(result, is_nullable=True)


def _sum0(types: Types, result: t.DataType, retracts: bool) -> Accumulator:
    return acc.Sum(result, is_nullable=False)


def _variance(sample: bool, root: bool) -> Callable[[Types, t.DataType, bool], Accumulator]:
    return lambda types, result, retracts: acc.Variance(result, sample, root)


def _always(make: Callable[[], Accumulator]) -> Callable[[Types, t.DataType, bool], Accumulator]:
    return lambda types, result, retracts: make()


def _array(types: Types) -> t.DataType:
    return t.ArrayType(types[0], types[0].is_nullable)


_ONE = range(1, 2)
_NUMERIC = "{}(<NUMERIC>)"
_ANY = "{}(<ANY>)"

_TABLE: tuple[tuple[Any, ...], ...] = (
    ("COUNT", range(0, 100), _count, _always(acc.Count), False, "COUNT(<ANY>, ...)"),
    (
        "SUM",
        _ONE,
        _numeric(sum_type),
        lambda types, result, retracts: acc.Sum(result, is_nullable=True),
        True,
        _NUMERIC,
    ),
    ("$SUM0", _ONE, _numeric(lambda x: sum_type(x).not_null()), _sum0, False, _NUMERIC),
    ("AVG", _ONE, _numeric(avg_type), lambda types, result, retracts: acc.Avg(result), True, _NUMERIC),
    ("MIN", _ONE, _comparable, _extreme(min), True, "{}(<COMPARABLE_TYPE>)"),
    ("MAX", _ONE, _comparable, _extreme(max), True, "{}(<COMPARABLE_TYPE>)"),
    ("FIRST_VALUE", _ONE, _first, _first_value(False), True, _ANY),
    ("LAST_VALUE", _ONE, _first, _first_value(True), True, _ANY),
    (
        "LISTAGG",
        range(1, 3),
        _string,
        lambda types, result, retracts: values.ListAgg(retracts),
        False,
        "LISTAGG(<CHARACTER>, <CHARACTER>)",
    ),
    ("COLLECT", _ONE, lambda x: t.MultisetType(x[0], False), _always(values.Collect), False, _ANY),
    ("ARRAY_AGG", _ONE, _array, lambda types, result, retracts: values.ArrayAgg(False, retracts), False, _ANY),
    (
        "ARRAY_AGG_IGNORE_NULLS",
        _ONE,
        _array,
        lambda types, result, retracts: values.ArrayAgg(True, retracts),
        False,
        _ANY,
    ),
    ("STDDEV_POP", _ONE, _numeric(avg_type), _variance(False, True), True, _NUMERIC),
    ("STDDEV_SAMP", _ONE, _numeric(avg_type), _variance(True, True), True, _NUMERIC),
    ("VAR_POP", _ONE, _numeric(avg_type), _variance(False, False), True, _NUMERIC),
    ("VAR_SAMP", _ONE, _numeric(avg_type), _variance(True, False), True, _NUMERIC),
    ("APPROX_COUNT_DISTINCT", _ONE, _count, _always(values.CountDistinct), False, _ANY),
    ("SINGLE_VALUE", _ONE, _first, _always(acc.SingleValue), True, _ANY),
    (
        "PERCENTILE",
        range(2, 4),
        _percentile,
        _always(values.Percentile),
        False,
        "PERCENTILE(<NUMERIC>, <NUMERIC NOT NULL>)",
    ),
)


def _json(types: Types) -> t.DataType:
    check_json_types(types)
    return _JSON


def _json_aggregates(on_null: str) -> tuple[tuple[Any, ...], ...]:
    """Return the JSON aggregates for NULL ON NULL or ABSENT ON NULL."""
    keep = on_null == "NULL"
    return (
        (
            f"JSON_OBJECTAGG_{on_null}_ON_NULL",
            range(2, 3),
            lambda types: _json(types[1:]) if isinstance(types[0], STRINGS) else None,
            lambda types, result, retracts: JsonObjectAgg(types[1], keep),
            False,
            "JSON_OBJECTAGG(<CHARACTER>, <ANY>)",
        ),
        (
            f"JSON_ARRAYAGG_{on_null}_ON_NULL",
            _ONE,
            _json,
            lambda types, result, retracts: JsonArrayAgg(types[0], keep, retracts),
            False,
            "JSON_ARRAYAGG(<ANY>)",
        ),
    )


_AGGREGATES = {
    name: Aggregate(name, counts, result, make, nullable_if_empty, form.format(name))
    for name, counts, result, make, nullable_if_empty, form in (
        *_TABLE,
        *_json_aggregates("NULL"),
        *_json_aggregates("ABSENT"),
    )
}

_ALIASES = {
    "STDDEV": "STDDEV_SAMP",
    "VARIANCE": "VAR_SAMP",
    "FIRST_VALUE_IGNORE_NULLS": "FIRST_VALUE",
    "LAST_VALUE_IGNORE_NULLS": "LAST_VALUE",
    "JSON_OBJECTAGG": "JSON_OBJECTAGG_NULL_ON_NULL",
    "JSON_ARRAYAGG": "JSON_ARRAYAGG_ABSENT_ON_NULL",
}
