"""Functions with values that nobody thinks of: whether a row is alone, or among others, changes no result.

And what may fail for a row is computed only where it is needed.
"""

from __future__ import annotations

import datetime
import random
from decimal import Decimal, Inexact, localcontext
from typing import Any

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.evaluate import compile_rex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.registry import find_function, function_names
from firesteel.columns.pylist import pylist
from firesteel.columns.rex import Call
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow
from firesteel.errors import FiresteelError
from tests.columns.rexes import call, column, lit

pytestmark = pytest.mark.slow

MOMENTS = [
    datetime.datetime(1, 1, 1),
    datetime.datetime(2024, 2, 29, 23, 59, 59, 999000),
    datetime.datetime(9999, 12, 31),
]
TEXTS = ["", "a", "ABC def", "ä€𝄞", "%_\\", "2024-02-30", "2024-01-31 10:00:00", "-1.5", "NaN", '{"a":[1]}', "$.a"]
TEXTS += ["yyyy-MM-dd", "[a-z]+", "(", "UTC", "\0", "9" * 30, "İ"]
VALUES: dict[str, list[Any]] = {
    "INT": [0, 1, -1, 2**31 - 1, -(2**31), 7],
    "BIGINT": [0, -1, 2**63 - 1, -(2**63)],
    "DOUBLE": [0.0, -2.5, float("inf"), float("nan"), 1e308, 5e-324],
    "DECIMAL(38, 10)": [Decimal("-1234567890123456789012345678.1234567891"), Decimal(1), Decimal("0E-10")],
    "DECIMAL(10, 2)": [Decimal("0.00"), Decimal("-99999999.99"), Decimal("2.50")],
    "STRING": TEXTS,
    "BYTES": [b"", b"a", b"\xff\x00"],
    "BOOLEAN": [True, False],
    "DATE": [moment.date() for moment in MOMENTS],
    "TIME(0)": [datetime.time(0), datetime.time(23, 59, 59)],
    "TIMESTAMP(3)": MOMENTS,
    "TIMESTAMP_LTZ(3)": [datetime.datetime(2024, 3, 31, 1, 30, tzinfo=datetime.UTC)],
    "INTERVAL MONTH": [0, -13],
    "INTERVAL SECOND(3)": [datetime.timedelta(days=-1, milliseconds=5)],
    "ARRAY<INT>": [[], [3, None, 1, 3]],
    "ARRAY<STRING>": [[], ["b", None, "a"]],
    "MAP<STRING, INT>": [{}, {"b": None, "a": 2}],
}
FAMILIES = [["STRING", "STRING", "INT"], ["ARRAY<INT>", "INT", "STRING", "MAP<STRING, INT>"], list(VALUES)]
FAMILIES += [["INT", "DOUBLE", "DECIMAL(38, 10)", "DECIMAL(10, 2)", "BIGINT"]]
FAMILIES += [["DATE", "TIMESTAMP(3)", "INTERVAL MONTH", "STRING", "INT"]]

OF_CHANCE_OR_CLOCK = {name for name in function_names() if not find_function(name).deterministic} | {
    name for name in function_names() if find_function(name).momentary(())
}
MEMORY = {"REPEAT", "LPAD", "RPAD"}
"""Functions whose results may be larger than memory."""

MADE_BY_THE_PLANNER = {"MINUS DAY TO SECOND", "MINUS YEAR TO MONTH", "NULLIF"}
NAMES = sorted({*function_names()} - OF_CHANCE_OR_CLOCK - MEMORY - MADE_BY_THE_PLANNER)


def typed(name: str, types: list[str], row: list[Any], constant: list[bool]) -> Any:
    """Return a call, or None if the function does not take these types."""
    operands = [lit(row[i], kind) if constant[i] else column(i, kind) for i, kind in enumerate(types)]
    try:
        return call(name, *operands)
    except FiresteelError:
        return None


def computed(rex: Any, columns: list[pa.Array]) -> list[str] | None:
    """Return the results as texts, or None if there is an error."""
    try:
        with localcontext() as context:
            # Python's operators round decimals to 28 digits, and DECIMAL has up to 38.
            context.traps[Inexact] = True
            found = compile_rex(rex, EvaluationContext())(ColumnBatch(tuple(columns), len(columns[0])))
    except Inexact:
        raise
    except (ArithmeticError, ValueError):  # among them all errors that are meant for users
        return None
    return [repr(value) for value in pylist(found)]


@pytest.mark.parametrize("seed", range(4))
def test_results_do_not_depend_on_other_rows_and_failures_are_lazy(seed: int) -> None:
    chance, accepted = random.Random(seed), 0
    while accepted < 1000:
        name, family, count = chance.choice(NAMES), chance.choice(FAMILIES), chance.choice([1, 2, 2, 3, 3, 4])
        types, constant = chance.choices(family, k=count), chance.choices([True, False], k=count)
        rows = [[chance.choice([*VALUES[kind], None]) for kind in types] for _ in range(4)]
        for row in rows:
            row[:] = [rows[0][i] if constant[i] else value for i, value in enumerate(row)]
        if (rex := typed(name, types, rows[0], constant)) is None:
            continue
        accepted += 1
        columns = [to_arrow([row[i] for row in rows], parse_type(kind)) for i, kind in enumerate(types)]
        alone = [computed(rex, [one.slice(place, 1) for one in columns]) for place in range(4)]
        together = computed(rex, columns)
        where = name, types, rows, constant
        assert together == (None if None in alone else [value for found in alone if found for value in found]), where
        repeated = computed(rex, [one.take(pa.array(list(range(4)) * 100)) for one in columns])
        assert repeated == (together and together * 100), where
        if together is None:
            lazy = call("CASE", column(count, "BOOLEAN"), rex)
            needed = pa.array([found is not None for found in alone])
            assert computed(lazy, [*columns, needed]) == ["None" if found is None else found[0] for found in alone], (
                where
            )


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("JSON_STRING", float("inf"), '"Infinity"'),
        ("JSON_STRING", float("nan"), '"NaN"'),
        ("JSON_ARRAY", float("-inf"), '["-Infinity"]'),
    ],
)
def test_json_has_texts_in_place_of_numbers_that_it_has_not(name: str, value: float, text: str) -> None:
    assert computed(call(name, lit(value, "DOUBLE")), [pa.array([0])]) == [repr(text)]


WIDE = Decimal("-1234567890123456789012345678.1234567891")


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("ROUND", [lit(WIDE, "DECIMAL(38, 10)"), lit(5, "INT")], Decimal("-1234567890123456789012345678.12346")),
        ("TRUNCATE", [lit(WIDE, "DECIMAL(38, 10)"), lit(5, "INT")], Decimal("-1234567890123456789012345678.12345")),
        ("PRINTF", [lit("%.6f", "STRING"), lit(WIDE, "DECIMAL(38, 10)")], "-1234567890123456789012345678.123457"),
        ("PARSE_JSON", [lit(f"[{WIDE}, -0.0, 1.10, 100]", "STRING")], f"[{WIDE},0,1.1,100]"),
    ],
)
def test_decimals_keep_more_digits_than_pythons_operators(name: str, operands: list[Any], expected: object) -> None:
    assert computed(call(name, *operands), [pa.array([0])]) == [repr(expected)]


def test_an_instant_of_nan_is_the_epoch() -> None:
    found = compile_rex(call("TO_TIMESTAMP_LTZ", lit(float("nan"), "DOUBLE")), EvaluationContext())
    assert found(ColumnBatch((), 1)).to_pylist() == [datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)]


@pytest.mark.parametrize("count", [1, 3])
def test_ifnull_takes_two_operands(count: int) -> None:
    with pytest.raises(FunctionError, match=f"Was expecting 2 arguments, found {count}"):
        call("IFNULL", *[lit("a", "STRING")] * count)


def test_an_exponent_out_of_all_bounds_is_no_decimal() -> None:
    rex = Call("TRY_CAST", (column(0, "STRING"),), parse_type("DECIMAL(10, 2)"))
    assert computed(rex, [pa.array(["1e99999999999999999999", "1e-2"])]) == ["None", "Decimal('0.01')"]
