"""Compares expressions over hard values, row by row and in America/New_York, with what Flink gave for them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from firesteel.common import Configuration
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.errors import FiresteelError
from firesteel.table import StreamTableEnvironment
from firesteel.testing import run_local
from tests.flink_recordings.recordings import recorded_values
from tests.flink_recordings.table_results import schema_of
from tests.flink_recordings.values.different import DIFFERENT
from tests.flink_recordings.values.expressions import areas
from tests.flink_recordings.values.inputs import ROWS, ZONE, write_inputs

pytestmark = pytest.mark.slow

EVERY = 1 if os.environ.get("FIRESTEEL_ALL_RECORDINGS") else 3
"""Each which expression is compared: a part in continuous integration."""
AT_ONCE = 40
FAILS, INVALID = "fails", "invalid"
ALL = range(1, ROWS + 1)


@pytest.fixture(scope="module")
def declaration(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_inputs(tmp_path_factory.mktemp("values"))


def test_all_expressions_are_recorded() -> None:
    assert {area: list(found) for area, found in recorded_values().items()} == areas()
    known = {expression for expressions in areas().values() for expression in expressions}
    assert DIFFERENT.keys() <= known


@pytest.mark.parametrize("area", areas())
def test_expressions_have_flinks_types_and_values(area: str, declaration: str) -> None:
    chosen = list(recorded_values()[area].items())[::EVERY]
    recorded = {expression: plain(result) for expression, result in chosen}
    found = Expressions(declaration, by_row=area != "aggregates").results(recorded)
    differences = {e: different_rows(found[e], recorded[e]) for e in recorded if found[e] != recorded[e]}
    known = {e: rows for e, rows in DIFFERENT.items() if e in recorded}
    unknown = {e: (found[e], recorded[e]) for e, rows in differences.items() if known.get(e) != rows}
    assert unknown == {}
    assert known == differences, "remove it from DIFFERENT"


def plain(result: dict[str, Any]) -> Any:
    """Return the type and the values of a recorded expression, without the texts of errors."""
    if INVALID in result:
        return INVALID
    return [result["type"], [FAILS if isinstance(value, dict) else value for value in result["values"]]]


def different_rows(found: Any, recorded: Any) -> tuple[int, ...]:
    """Return the numbers of the rows that differ; none if all do, or the type."""
    if INVALID in (found, recorded) or found[0] != recorded[0]:
        return ()
    rows = tuple(number for number, (a, b) in enumerate(zip(found[1], recorded[1], strict=True), 1) if a != b)
    return () if len(rows) == ROWS else rows


class Expressions:
    """What firesteel gives for expressions.

    Args:
        declaration: The statement that declares the table.
        by_row: Whether an expression has a value for each row, rather than one for all.
    """

    def __init__(self, declaration: str, by_row: bool) -> None:
        self._declaration = declaration
        self._by_row = by_row
        self._for_types = self._environment()[1]

    def results(self, expressions: Iterable[str]) -> dict[str, Any]:
        found = {expression: self._type(expression) for expression in expressions}
        valid = [expression for expression, kind in found.items() if kind != INVALID]
        for first in range(0, len(valid), AT_ONCE):
            part = valid[first : first + AT_ONCE]
            for expression, values in zip(part, self._values(part), strict=True):
                found[expression] = [found[expression], values]
        return found

    def _type(self, expression: str) -> str:
        t_env = self._for_types
        try:
            table = t_env.sql_query(f"SELECT {expression} AS c FROM v")
            t_env.sql_query(self._query([expression]))
        except FiresteelError:
            return INVALID
        ((_, kind),) = schema_of(table) or []
        return str(kind)

    def _values(self, expressions: list[str]) -> list[list[Any]]:
        """Return the values of each expression; those that fail together are tried apart, and then row by row."""
        try:
            rows = self._rows(self._query(expressions))
        except FiresteelError:
            if len(expressions) > 1:
                half = len(expressions) // 2
                return self._values(expressions[:half]) + self._values(expressions[half:])
            return [self._tried(expressions[0], ALL)] if self._by_row else [[FAILS]]
        return [[row[place] for row in rows] for place in range(1, len(expressions) + 1)]

    def _tried(self, expression: str, numbers: Sequence[int]) -> list[Any]:
        """Return the values for some rows, of which one at least fails."""
        if len(numbers) == 1:
            return [FAILS]
        half, found = len(numbers) // 2, []
        for part in (numbers[:half], numbers[half:]):
            try:
                where = f" WHERE id BETWEEN {part[0]} AND {part[-1]}"
                found += [row[1] for row in self._rows(self._query([expression]) + where)]
            except FiresteelError:
                found += self._tried(expression, part)
        return found

    def _query(self, expressions: Sequence[str]) -> str:
        items = ", ".join(f"CAST({expression} AS STRING) AS c{place}" for place, expression in enumerate(expressions))
        return f"SELECT {'id' if self._by_row else '0'} AS id, {items} FROM v"

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        env, t_env = self._environment()
        t_env.to_data_stream(t_env.sql_query(query)).collect_async()
        return sorted((tuple(row) for row in run_local(env).elements), key=lambda row: row[0])

    def _environment(self) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
        env = StreamExecutionEnvironment.get_execution_environment(Configuration())
        env.set_parallelism(1)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        t_env = StreamTableEnvironment.create(env)
        t_env.get_config().set("table.local-time-zone", ZONE)
        t_env.execute_sql(self._declaration)
        return env, t_env
