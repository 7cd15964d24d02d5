"""Values of each type at its bounds, and the tables of connectors that keep them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from firesteel.common.table_errors import ValidationException
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.table.planner.rules import rules
from firesteel.table.planner.rules.partition_pruning import push_partitions_into_scan
from firesteel.table.planner.rules.scan_conditions import push_condition_into_scan
from firesteel.testing import run_local
from tests.table.local_runs import create, insert

_MOMENTS = ("0002-01-01 00:00:00", "1969-12-31 23:59:59", "2024-03-10 02:30:00", "2024-11-03 01:30:00",
            "9998-12-31 23:59:59")  # fmt: skip
_TIMES = ("00:00:00", "12:30:15", "23:59:59")
_FLOATS = ("NaN", "Infinity", "-Infinity", "-0.0", "0.0", "1.5", "-2.0", "0.1", "1e30", "1.4e-45")
_TEXTS = ("", " ", "a", "A", "a ", " a", "a%b", "a_b", "null", "Zz")


def _quoted(*texts: str) -> tuple[str, ...]:
    return tuple("'" + text.replace("'", "''") + "'" for text in texts)


def _moments(fraction: str) -> tuple[str, ...]:
    found = [f"TIMESTAMP '{text}'" for text in _MOMENTS]
    return tuple(found) if not fraction else (*found, *(f"TIMESTAMP '{text}.{fraction}'" for text in _MOMENTS))


VALUES: dict[str, tuple[str, ...]] = {
    "BOOLEAN": ("TRUE", "FALSE"),
    "TINYINT": ("-128", "-1", "0", "1", "127"),
    "SMALLINT": ("-32768", "0", "1", "32767"),
    "INT": ("-2147483648", "-1", "0", "1", "2", "2147483647"),
    "BIGINT": ("-9223372036854775808", "0", "1", "9007199254740993", "9223372036854775807"),
    "FLOAT": _quoted(*_FLOATS),
    "DOUBLE": _quoted(*_FLOATS),
    "DECIMAL(4, 2)": ("-99.99", "-1.50", "0", "1", "1.25", "99.99"),
    "DECIMAL(38, 10)": ("'-1234567890123456789012345678.0000000001'", "0", "1", "1.25",
                        "'9999999999999999999999999999.9999999999'"),
    "CHAR(3)": _quoted("", "a", "A", "abc", "a b"),
    "VARCHAR(5)": _quoted(*_TEXTS),
    "STRING": _quoted(*_TEXTS, "it's", 'q"q', "a,b;c", "\\N", "äöü€", "line\nbreak", "tab\t", "x" * 300),
    "BINARY(2)": ("X'0000'", "X'00ff'", "X'6162'"),
    "BYTES": ("X''", "X'00'", "X'00ff80'", "X'616263'"),
    "DATE": tuple(f"DATE '{text}'" for text in ("0001-01-01", "1582-10-10", "1969-12-31", "2024-02-29", "9999-12-31")),
    "TIME(0)": tuple(f"TIME '{text}'" for text in _TIMES),
    "TIME(3)": tuple(f"TIME '{text}.{part}'" for text in _TIMES for part in ("000", "120")),
    **{f"{name}({digits})": _moments("123456"[:digits]) for name in ("TIMESTAMP", "TIMESTAMP_LTZ")
       for digits in (0, 3, 6, 9)},
}  # fmt: skip
"""SQL constants, which are cast to their type."""

KINDS = tuple(VALUES)
"""The types, in the order of the columns c0, c1 ..."""


def typed_rows(choose: random.Random, made: Store, count: int) -> str:
    """Return a query of random rows for a store: a number of the row and a column for each type.

    Each value of a type that it has occurs at least once, and so does NULL.
    """
    kinds = made.kinds
    columns = [_column(choose, kind, count, made.rejected) for kind in kinds]
    lines = (f"({number}, {', '.join(row)})" for number, row in enumerate(zip(*columns, strict=True)))
    typed = ", ".join(f"CAST({column_of(kind)} AS {kind})" for kind in kinds)
    names = ", ".join(map(column_of, kinds))
    return f"SELECT n, {typed} FROM (VALUES {', '.join(lines)}) AS v (n, {names})"


def _column(choose: random.Random, kind: str, count: int, without: frozenset[str]) -> list[str]:
    found = [f"CAST({one} AS {kind})" for one in ("NULL", *VALUES[kind]) if one not in without]
    found += choose.choices(found, k=max(0, count - len(found)))
    choose.shuffle(found)
    return found[:count]


def column_of(kind: str) -> str:
    """Return the name of the column of a type."""
    return f"c{KINDS.index(kind)}"


def columns_of(kinds: tuple[str, ...]) -> str:
    """Return the declaration of the columns of a table."""
    return ", ".join(["n INT", *(f"{column_of(kind)} {kind}" for kind in kinds)])


@dataclass(frozen=True)
class Store:
    """A place for a table of a connector.

    Attributes:
        options: Options of the table.
        without: Types that it refuses.
        rejected: Constants that it has not: a job that writes them fails.
        prepare: Makes the table in a database; gets the types of its columns.
        more: The text after the columns.
        key: The text of a primary key.
        batches: The batches after which a job that does not end has read everything.
    """

    options: dict[str, str]
    without: tuple[str, ...] = ()
    rejected: frozenset[str] = frozenset()
    prepare: Callable[[tuple[str, ...]], None] = field(default=lambda kinds: None)
    more: str = ""
    key: str = ""
    batches: int | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(kind for kind in KINDS if kind not in self.without)

    def statement(self, kinds: tuple[str, ...]) -> str:
        """Return the statement that declares the table."""
        return create("t", columns_of(kinds) + self.key, self.options, self.more)


def in_zone(zone: str) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """Return environments with a session time zone."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("table.local-time-zone", zone)
    return env, t_env


def results(zone: str, query: str, made: Store | None = None) -> list[tuple[object, ...]]:
    """Return the rows of a query, over the table `t` of a store."""
    env, t_env = in_zone(zone)
    if made is not None:
        t_env.execute_sql(made.statement(made.kinds))
    t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    return [tuple(row) for row in run_local(env, batches=None if made is None else made.batches).elements]


def store(zone: str, statement: str, query: str) -> None:
    """Write the rows of a query into the table `t`."""
    env, t_env = in_zone(zone)
    t_env.execute_sql(statement)
    insert(env, t_env, f"INSERT INTO t {query}")


def is_refused(zone: str, statement: str, query: str) -> bool:
    """Return whether a query cannot be planned."""
    _, t_env = in_zone(zone)
    t_env.execute_sql(statement)
    try:
        t_env.sql_query(query)
    except ValidationException:
        return True
    return False


SQL_TYPES = {
    "sqlite": {"TINYINT": "INTEGER", "STRING": "TEXT", "DOUBLE": "REAL", "FLOAT": "REAL", "BYTES": "BLOB",
               "BINARY(2)": "BLOB", "BOOLEAN": "INTEGER",
               **{kind: "TEXT" for kind in KINDS if kind[:4] in ("DECI", "DATE", "TIME")}},
    "postgresql": {"TINYINT": "SMALLINT", "STRING": "TEXT", "DOUBLE": "DOUBLE PRECISION", "FLOAT": "REAL",
                   "BYTES": "BYTEA", "BINARY(2)": "BYTEA",
                   **{f"TIMESTAMP_LTZ({digits})": f"TIMESTAMPTZ({digits})" for digits in (0, 3, 6)}},
    "mysql": {"CHAR(3)": "VARCHAR(3)",
              "STRING": "TEXT", "BYTES": "BLOB", "TIMESTAMP(0)": "DATETIME", "TIMESTAMP(3)": "DATETIME(3)",
              "TIMESTAMP(6)": "DATETIME(6)",
              **{f"TIMESTAMP_LTZ({digits})": f"DATETIME({digits})" for digits in (0, 3, 6)}},
}  # fmt: skip
"""The types of databases, where they are not called as here, or are others: a CHAR of MySQL loses its last spaces."""


def sql_columns(dialect: str, kinds: tuple[str, ...]) -> str:
    """Return the declaration of a table in a database."""
    named = SQL_TYPES[dialect]
    return ", ".join(["n INT", *(f"{column_of(kind)} {named.get(kind, kind)}" for kind in kinds)])


def condition(choose: random.Random, kinds: tuple[str, ...], depth: int = 0) -> str:
    """Return a random condition over the columns of some types."""
    if depth < 2 and choose.random() < 0.4:
        parts = [condition(choose, kinds, depth + 1) for _ in range(2)]
        joined = choose.choice([" AND ", " OR "]).join(f"({part})" for part in parts)
        return f"NOT ({joined})" if choose.random() < 0.2 else joined
    kind = choose.choice(kinds)
    column, like = column_of(kind), _compared(choose, kind)
    constants = [constant(choose, like) for _ in range(choose.choice([2, 2, 5]))]
    compare = choose.choice(["=", "<>", "<", "<=", ">", ">="])
    negated = choose.choice(["", "NOT "])
    forms = [f"{column} {compare} {constants[0]}"] * 4
    forms.append(f"{constants[0]} {compare} {column}")
    forms.append(f"{column} {negated}IN ({', '.join(constants)})")
    forms.append(f"{column} {negated}BETWEEN {constants[0]} AND {constants[1]}")
    forms.append(f"{column} IS {negated}NULL")
    forms.append(f"{column} IS {negated}DISTINCT FROM {constants[0]}")
    forms.append(f"{column} {compare} {column_of(choose.choice([other for other in _family(kind) if other in kinds]))}")
    forms.append(f"COALESCE({column}, {constants[0]}) {compare} {constants[1]}")
    forms.append(f"CAST({column} AS STRING) {compare} CAST({constants[0]} AS STRING)")
    if _is_text(kind):
        pattern = choose.choice(["a%", "%", "", "_", "a_b", "%a", "A%b", "a\\%%"])
        forms += [f"{column} {negated}LIKE '{pattern}'", f"UPPER({column}) = 'A'", f"{column} || 'x' = 'ax'"]
    if kind == "BOOLEAN":
        forms += [column, f"NOT {column}", f"{column} IS {negated}{choose.choice(['TRUE', 'FALSE', 'UNKNOWN'])}"]
    return choose.choice(forms)


def constant(choose: random.Random, kind: str) -> str:
    """Return a constant, mostly of a type."""
    chosen = choose.choice(VALUES[kind])
    is_plain = _is_text(kind) or not chosen.startswith("'")
    return chosen if is_plain and choose.random() < 0.4 else f"CAST({chosen} AS {kind})"


def _is_text(kind: str) -> bool:
    return kind in ("CHAR(3)", "VARCHAR(5)", "STRING")


_FAMILIES = (KINDS[1:9], KINDS[9:12], KINDS[12:14], ("DATE", *KINDS[17:25]), KINDS[15:17])


def _compared(choose: random.Random, kind: str) -> str:
    """Return a type that values of a type can be compared with."""
    return choose.choice([kind, choose.choice(_family(kind))])


def _family(kind: str) -> tuple[str, ...]:
    return next((found for found in _FAMILIES if kind in found), (kind,))


PUSHING = (push_partitions_into_scan, push_condition_into_scan)


@contextmanager
def planned(pushes: bool) -> Iterator[None]:
    """Push nothing into scans in this context, unless asked for."""
    with pytest.MonkeyPatch.context() as patch:
        if not pushes:
            for name in ("_RULES", "_LAST_RULES"):
                kept = tuple(rule for rule in getattr(rules, name) if rule not in PUSHING)
                patch.setattr(rules, name, kept)
            patch.setattr(rules, "prune_columns", lambda roots, *how: list(roots))
        yield
