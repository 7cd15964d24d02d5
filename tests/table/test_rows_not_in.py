"""Rows [NOT] IN a subquery, as nested loops over three truth values have it, over rows that come and go."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, Schema, StreamTableEnvironment
from firesteel.testing import run_local

Values = tuple[int | None, ...]

CONDITIONS = {"": lambda outer, inner: True, "WHERE u.g = t.g": lambda outer, inner: outer[-1] == inner[-1]}
_ADDED = (RowKind.INSERT, RowKind.UPDATE_AFTER)


def _rows(rng: random.Random, nullable: list[bool]) -> tuple[list[Row], Counter[Values]]:
    """Changes of random rows, the last column of which is never NULL, and what remains of them."""
    changes: list[Row] = []
    remaining: Counter[Values] = Counter()
    for _ in range(rng.choice([0, 3, 60])):
        is_gone = remaining and rng.random() < 0.3
        values: Values = (
            rng.choice(list(remaining.elements()))
            if is_gone
            else (*(None if may and rng.random() < 0.2 else rng.randrange(4) for may in nullable), rng.randrange(3))
        )
        changes.append(Row.of_kind(RowKind.DELETE if is_gone else RowKind.INSERT, *values))
        remaining[values] += -1 if is_gone else 1
        remaining += Counter()
    return changes, remaining


def _may_be_in(row: Values, rows: Counter[Values], count: int, condition: Any) -> list[bool]:
    """For each row for which the condition holds: whether it is equal, without those that certainly are not."""
    may = [
        inner
        for inner in rows
        if condition(row, inner)
        and all(a is None or b is None or a == b for a, b in zip(row[:count], inner[:count], strict=True))
    ]
    return [None not in row[:count] and None not in inner[:count] for inner in may]


def _environment(tables: dict[str, tuple[list[Row], list[bool]]]) -> tuple[StreamExecutionEnvironment, Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    for name, (rows, nullable) in tables.items():
        schema, names = Schema.new_builder(), [*"abc"[: len(nullable)], "g"]
        for column, may in zip(names, [*nullable, False], strict=True):
            schema.column(column, DataTypes.INT() if may else DataTypes.INT().not_null())
        stream = env.from_collection(rows, Types.ROW_NAMED(names, [Types.INT()] * len(names)))
        t_env.create_temporary_view(name, t_env.from_changelog_stream(stream, schema.build()))
    return env, t_env


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("word", ["IN", "NOT IN"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_rows_are_in_a_table_as_nested_loops_say(count: int, word: str, condition: str) -> None:
    rng = random.Random(f"{count} {word} {condition}")
    for _ in range(4):
        nullable = [[rng.random() < 0.6 for _ in range(count)] for _ in range(2)]
        (outer, left), (inner, right) = (_rows(rng, may) for may in nullable)
        env, t_env = _environment({"t": (outer, nullable[0]), "u": (inner, nullable[1])})
        columns = ", ".join("abc"[:count])
        query = f"SELECT * FROM t WHERE ({columns}) {word} (SELECT {columns} FROM u {condition})"
        t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
        found: Counter[Values] = Counter()
        for row in run_local(env, batch_elements=7).elements:
            found[tuple(row)] += 1 if row.get_row_kind() in _ADDED else -1
        matches = {row: _may_be_in(row, right, count, CONDITIONS[condition]) for row in left}
        expected = {row: n for row, n in left.items() if (any(matches[row]) if word == "IN" else not matches[row])}
        assert {row: n for row, n in found.items() if n} == expected, (query, nullable)
