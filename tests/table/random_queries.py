"""Random tables and queries whose results are the same in Flink and Spark SQL."""

from __future__ import annotations

import os
import random

from firesteel.table import DataTypes
from tests.table.environments import environment, remaining

COLUMNS = {"t": ("a", "b", "s"), "u": ("c", "d", "r")}


def cases(engine, count):
    """Yield tables and a query over them; FIRESTEEL_RANDOM_SEED chooses others, FIRESTEEL_RANDOM_QUERIES more."""
    choose = random.Random(f"{os.environ.get('FIRESTEEL_RANDOM_SEED', '1')} {engine}")
    for _ in range(int(os.environ.get("FIRESTEEL_RANDOM_QUERIES", count))):
        tables = {name: random_rows(choose) or [(None, None, None)] for name in COLUMNS}
        yield tables, random_query(choose)


def random_rows(choose):
    def number():
        return None if choose.random() < 0.15 else choose.randrange(-3, 6)

    return [(number(), number(), choose.choice(["x", "y", "zz", "", None])) for _ in range(choose.randrange(0, 25))]


def condition(choose, numbers, texts, depth=0):
    kind = choose.randrange(8)
    if depth < 2 and kind < 3:
        parts = [condition(choose, numbers, texts, depth + 1) for _ in range(2)]
        return [f"({parts[0]} AND {parts[1]})", f"({parts[0]} OR {parts[1]})", f"NOT ({parts[0]})"][kind]
    column = choose.choice(numbers)
    return choose.choice(
        [
            f"{column} {choose.choice(['<', '<=', '=', '<>', '>'])} {choose.randrange(-2, 5)}",
            f"{column} IS {choose.choice(['', 'NOT '])}NULL",
            f"{column} + {choose.choice(numbers)} > {choose.randrange(4)}",
            f"{column} BETWEEN -1 AND 3",
            f"{column} IN (1, 2, {choose.randrange(5)})",
            f"{choose.choice(texts)} {choose.choice(['=', '<>', '<'])} 'y'",
            f"COALESCE({column}, 0) * 2 - 1 < CASE WHEN {choose.choice(numbers)} > 1 THEN 3 ELSE -1 END",
        ]
    )


def random_query(choose):
    source, numbers, texts = "t", ["t.a", "t.b"], ["t.s"]
    if choose.random() < 0.5:
        kind = choose.choice(["JOIN", "LEFT JOIN"])
        on = choose.choice(["t.a = u.c", "t.a = u.c AND t.b < u.d", "t.s = u.r", "t.a = u.c AND u.d > 0"])
        source, numbers, texts = f"t {kind} u ON {on}", [*numbers, "u.c", "u.d"], [*texts, "u.r"]
    where = f" WHERE {condition(choose, numbers, texts)}" if choose.random() < 0.7 else ""
    if choose.random() < 0.25:
        kind = choose.choice(["IN", "NOT IN"])
        where += f"{' AND' if where else ' WHERE'} t.b {kind} (SELECT d FROM u WHERE c > 0)"
    if choose.random() < 0.5:
        keys = choose.sample([*numbers, *texts], choose.randrange(1, 3))
        calls = choose.sample(
            [f"{name}({choose.choice(numbers)})" for name in ("SUM", "MIN", "MAX", "COUNT", "COUNT")]
            + ["COUNT(*)", f"COUNT(DISTINCT {choose.choice(numbers)})", f"MIN({choose.choice(texts)})"],
            2,
        )
        having = " HAVING COUNT(*) > 1" if choose.random() < 0.3 else ""
        return f"SELECT {', '.join([*keys, *calls])} FROM {source}{where} GROUP BY {', '.join(keys)}{having}"
    distinct = "DISTINCT " if choose.random() < 0.3 else ""
    items = choose.sample([*numbers, *texts], 2)
    query = f"SELECT {distinct}{', '.join(items)} FROM {source}{where}"
    if choose.random() < 0.2:
        query += (
            f" {choose.choice(['UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT'])} SELECT {', '.join(items)} FROM {source}"
        )
    return query


def environment_with(mode, tables):
    t_env = environment(mode, parallelism=2)
    for name, rows in tables.items():
        types = (DataTypes.INT(), DataTypes.INT(), DataTypes.STRING())
        fields = [DataTypes.FIELD(column, kind) for column, kind in zip(COLUMNS[name], types, strict=True)]
        t_env.create_temporary_view(name, t_env.from_elements(rows, DataTypes.ROW(fields)))
    return t_env


def result_of(t_env, query):
    return sorted(remaining(t_env.sql_query(query)), key=repr)
