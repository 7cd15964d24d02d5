"""Random tables of many types, and random queries over them in the dialects of Flink and DuckDB."""

from __future__ import annotations

import datetime
import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal

from firesteel.table import DataTypes
from firesteel.table.udf import udtf
from tests.table.typed_forms import QueryForms

TABLES = {
    "t": {"a": "INT", "b": "INT", "d": "DOUBLE", "s": "STRING"},
    "u": {"c": "BIGINT", "m": "DECIMAL(8, 2)", "r": "STRING", "n": "DOUBLE"},
    "w": {"x": "INT", "y": "DOUBLE", "e": "DATE", "f": "BOOLEAN"},
}
LOOKED_UP = ((0, "p"), (1, "q"), (2, "q"), (2, None))
"""The rows of `looked_up`, a table in a database, of a BIGINT `v0` and a STRING `v1`."""

NUMBERS = ("INT", "BIGINT", "DOUBLE", "DECIMAL(8, 2)")
WITH_NAN = frozenset({"d", "n"})
"""Columns with NaN, which are compared as rows are (as keys) and not by expressions."""

_VALUES = {
    "INT": [-1, 0, 1, 1, 2, 2, 3],
    "BIGINT": [0, 1, 1, 2, 2, 3, 5_000_000_000],
    "DOUBLE": [-1.5, 0.0, 0.25, 1.0, 2.0, 3.0],
    "NAN": [float("nan"), -float("nan"), 0.0, -0.0, 1.0, 2.0],
    "DECIMAL(8, 2)": [Decimal("-1.50"), Decimal("0.00"), Decimal("1.00"), Decimal("2.00"), Decimal("2.25")],
    "STRING": ["", "p", "q", "qq", "Q"],
    "DATE": [datetime.date(2024, 2, day) for day in (28, 29)] + [datetime.date(1969, 12, 31)],
    "BOOLEAN": [True, False],
}


def random_tables(choose):
    """Return rows with an id before their columns; ids repeat."""
    return {name: _random_rows(choose, columns) for name, columns in TABLES.items()}


def _random_rows(choose, columns):
    values = [_VALUES["NAN" if column in WITH_NAN else kind] for column, kind in columns.items()]
    chance = choose.choice([0, 0.2, 0.2])
    count = choose.choice([1, 8, 12, 16, 20])
    rows = [tuple(None if choose.random() < chance else choose.choice(some) for some in values) for _ in range(count)]
    return [(choose.randrange(6), *row) for row in [*rows, *rows[:2]]]


@dataclass(frozen=True)
class Column:
    """A column in scope; keys are those with NaN."""

    name: str
    kind: str

    @property
    def group(self):
        return "NUMBER" if self.kind in NUMBERS else self.kind


@udtf(result_types=[DataTypes.BIGINT()])
def numbers_below(limit):
    """Yield the numbers from 0 to below a limit."""
    yield from range(limit or 0)


def declare_sources(t_env, directory):
    """Declare what queries read besides random tables: `numbers_below` and `looked_up`, in a directory."""
    path = directory / "looked_up.db"
    if not path.exists():
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("CREATE TABLE looked_up (v0 BIGINT, v1 TEXT)")
            database.executemany("INSERT INTO looked_up VALUES (?, ?)", LOOKED_UP)
    t_env.create_temporary_system_function("numbers_below", numbers_below)
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE looked_up (v0 BIGINT, v1 STRING) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 'looked_up')"
    )


class TypedQuery(QueryForms):
    """A generator of queries; equal seeds make equal queries in both dialects.

    Args:
        seed: What determines the choices.
        dialect: `flink` or `duckdb`.
        mode: `batch` or `streaming`.
    """

    def __init__(self, seed, dialect, mode):
        self._random = random.Random(seed)
        self._is_flink = dialect == "flink"
        self._mode = mode
        self._names = 0

    def query(self):
        """Return a query."""
        return self._rows(self._random.choice([1, 2, 2, 3]))[0]

    def _name(self):
        self._names += 1
        return f"q{self._names}"

    def _pick(self, choices):
        return self._random.choice(choices)

    def _chance(self, share):
        return self._random.random() < share

    # --- queries: (text, kinds of the columns v0, v1 ...) ---------------------------------------------------------

    def _rows(self, depth):
        kinds = [self._plain, self._plain, self._groups, self._groups, self._set_operation, self._limited]
        kinds += [self._ranks, self._above, self._above, self._distinct, self._over]
        kinds += [self._grouping_sets, self._with, self._using, self._qualified]
        return self._pick(kinds if depth > 0 else [self._plain])(depth)

    def _items(self, items):
        text = ", ".join(f"{item} AS v{i}" for i, (item, _) in enumerate(items))
        return text, [kind for _, kind in items]

    def _plain(self, depth):
        source, columns = self._from(depth)
        text, kinds = self._items([self._item(columns) for _ in range(self._random.randrange(1, 4))])
        return f"SELECT {text} FROM {source}{self._where(columns, depth)}", kinds

    def _distinct(self, depth):
        text, kinds = self._plain(depth)
        return text.replace("SELECT", "SELECT DISTINCT", 1), kinds

    def _above(self, depth):
        """Return a filter over a query."""
        inner, kinds = self._rows(depth - 1)
        name = self._name()
        columns = self._columns(name, kinds)
        text, kinds = self._items([(column.name, column.kind) for column in columns])
        return f"SELECT {text} FROM ({inner}) AS {name}{self._where(columns, depth - 1, 1)}", kinds

    def _columns(self, name, kinds):
        return [Column(f"{name}.v{i}", kind) for i, kind in enumerate(kinds)]

    def _groups(self, depth):
        source, columns = self._from(depth)
        where = self._where(columns, depth)
        keys = self._random.sample(columns, min(len(columns), self._random.randrange(self._mode == "streaming", 3)))
        items = [(key.name, key.kind) for key in keys]
        items += [self._call(columns) for _ in range(self._random.randrange(1, 3))]
        text, kinds = self._items(items)
        group = f" GROUP BY {', '.join(key.name for key in keys)}" if keys else ""
        having = ""
        if self._chance(0.4):
            call = self._pick(["COUNT(*)", self._call(columns, ["INT", "BIGINT"])[0]])
            tests = [f"{call} {self._pick(['>', '<', '='])} {self._pick([0, 1, 2])}"]
            tests += [self._comparison(keys)] if keys and self._chance(0.5) else []
            having = f" HAVING {self._pick([' AND ', ' OR ']).join(tests)}"
        return f"SELECT {text} FROM {source}{where}{group}{having}", kinds

    def _call(self, columns, results=None):
        one = self._pick(columns)
        calls = [("COUNT(*)", "BIGINT"), (f"COUNT({one.name})", "BIGINT"), (f"COUNT(DISTINCT {one.name})", "BIGINT")]
        safe = [column for column in columns if column.kind != "NAN"]
        if safe:
            one = self._pick(safe)
            test = self._comparison(columns)
            calls.append((f"COUNT({one.name}) FILTER (WHERE {test})", "BIGINT"))
            if one.kind != "BOOLEAN":
                calls += [(f"{self._pick(['MIN', 'MAX'])}({one.name})", one.kind)] * 2
            if one.kind in NUMBERS:
                calls += [(f"SUM({self._pick(['', 'DISTINCT '])}{one.name})", self._sum_kind(one.kind))] * 2
            if one.kind in ("INT", "BIGINT"):
                calls.append((self._average(one.name), "BIGINT"))
            if one.kind == "DOUBLE":
                calls.append((f"AVG({one.name})", "ROUND"))
        calls = [call for call in calls if results is None or call[1] in results]
        text, kind = self._pick(calls)
        return text, kind

    def _sum_kind(self, kind):
        return {"INT": "INT", "BIGINT": "BIGINT", "DOUBLE": "DOUBLE"}.get(kind, "DECIMAL(8, 2)")

    def _average(self, text):
        return f"AVG({text})" if self._is_flink else f"CAST(TRUNC(AVG({text})) AS BIGINT)"

    def _set_operation(self, depth):
        left, kinds = self._rows(depth - 1)
        right, others = self._rows(depth - 1)
        word = self._pick(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
        names = [self._name(), self._name()]
        pairs = [(i, j) for i, kind in enumerate(kinds) for j, other in enumerate(others) if kind == other]
        if not pairs:
            return left, kinds
        pairs = self._random.sample(pairs, min(len(pairs), 2))
        texts = [", ".join(f"{names[0]}.v{i} AS v{place}" for place, (i, _) in enumerate(pairs))]
        texts.append(", ".join(f"{names[1]}.v{j} AS v{place}" for place, (_, j) in enumerate(pairs)))
        first = f"SELECT {texts[0]} FROM ({left}) AS {names[0]}"
        return f"{first} {word} SELECT {texts[1]} FROM ({right}) AS {names[1]}", [kinds[i] for i, _ in pairs]

    def _limited(self, depth):
        inner, kinds = self._rows(depth - 1)
        name = self._name()
        columns = self._columns(name, kinds)
        text, kinds = self._items([(column.name, column.kind) for column in columns])
        order = ", ".join(f"{column.name}{self._pick(['', ' DESC'])}" for column in columns)
        offset = f" OFFSET {self._random.randrange(1, 3)}" if self._chance(0.3) else ""
        limited = (
            f"SELECT {text} FROM ({inner}) AS {name} ORDER BY {order} LIMIT {self._random.randrange(1, 6)}{offset}"
        )
        name = self._name()
        text, kinds = self._items([(column.name, column.kind) for column in self._columns(name, kinds)])
        return f"SELECT {text} FROM ({limited}) AS {name}", kinds

    def _ranks(self, depth):
        """Return the first rows of partitions, ordered by all columns."""
        inner, kinds = self._rows(depth - 1)
        name, outer = self._name(), self._name()
        columns = self._columns(name, kinds)
        keys = self._random.sample(columns, self._random.randrange(0, len(columns)) if len(columns) > 1 else 0)
        order = ", ".join(f"{column.name}{self._pick(['', ' DESC'])}" for column in columns)
        partition = f"PARTITION BY {', '.join(key.name for key in keys)} " if keys else ""
        word = "ROW_NUMBER" if self._mode == "streaming" else self._pick(["ROW_NUMBER", "RANK", "DENSE_RANK"])
        text, _ = self._items([(column.name, column.kind) for column in columns])
        ranked = f"SELECT {text}, {word}() OVER ({partition}ORDER BY {order}) AS rn FROM ({inner}) AS {name}"
        test = self._pick(["{0} <= 2", "{0} = 1", "{0} < 4 AND {0} > 1", "{0} <= 3"]).format(f"{outer}.rn")
        above = self._columns(outer, kinds)
        items = [(column.name, column.kind) for column in above]
        items += [(f"{outer}.rn", "BIGINT")] if self._chance(0.4) else []
        text, kinds = self._items(items)
        more = f" AND {self._predicate(above, 0)}" if self._chance(0.5) else ""
        return (
            f"SELECT {text} FROM ({ranked}) AS {outer} WHERE {test}{more}",
            kinds,
        )

    # --- FROM ----------------------------------------------------------------------------------------------------

    def _from(self, depth):
        count = self._pick([1, 1, 2, 2, 3, 4]) if depth > 0 else self._pick([1, 1, 2])
        items = [self._table(depth) for _ in range(count)]
        if depth > 0 and self._chance(0.2):
            items[0] = self._pick([self._unnested, self._lateral, self._table_function, self._looked_up])()
        if count > 1 and self._chance(0.4):
            return ", ".join(text for text, _ in items), [column for _, columns in items for column in columns]
        text, columns = items[0]
        for right, others in items[1:]:
            kind = self._pick(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
            test = self._equation(columns, others)
            if self._chance(0.4) and kind != "FULL JOIN":
                test += f" AND {self._comparison([*columns, *others])}"
            text, columns = f"{text} {kind} {right} ON {test}", [*columns, *others]
        return text, columns

    def _table(self, depth):
        name = self._name()
        if (depth > 1 and self._chance(0.3)) or (depth == 1 and self._chance(0.15)):
            inner, kinds = self._rows(depth - 1)
            return f"({inner}) AS {name}", self._columns(name, kinds)
        if depth > 0 and self._chance(0.05):
            return self._values()
        table = self._pick(list(TABLES))
        columns = TABLES[table].items()
        return f"{table} AS {name}", [Column(f"{name}.{c}", "NAN" if c in WITH_NAN else kind) for c, kind in columns]

    def _equation(self, columns, others):
        pairs = [(a, b) for a in columns for b in others if a.group == b.group and a.kind != "ROUND"]
        if not pairs:
            return self._pick(["1 = 1", "TRUE"])
        same = [pair for pair in pairs if pair[0].kind == pair[1].kind]
        chosen = self._random.sample(pairs, 1) if not same or self._chance(0.3) else [self._pick(same)]
        if self._chance(0.25) and len(pairs) > 1:
            chosen.append(self._pick(pairs))
        return " AND ".join(f"{a.name} = {b.name}" for a, b in chosen)

    # --- conditions ----------------------------------------------------------------------------------------------

    def _where(self, columns, depth, least=0):
        parts = [self._predicate(columns, depth) for _ in range(max(least, self._pick([0, 0, 0, 1])))]
        tables = sorted({column.name.partition(".")[0] for column in columns})
        for _ in range(len(tables) - 1):
            ours, theirs = self._random.sample(tables, 2)
            sides = [
                [c for c in columns if c.name.startswith(f"{table}.") and c.kind != "NAN"] for table in (ours, theirs)
            ]
            parts.append(self._equation(*sides))
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _comparison(self, columns):
        column = self._pick(columns)
        if column.kind in ("NAN", "ROUND"):
            return f"{column.name} IS {self._pick(['', 'NOT '])}NULL"
        operator = self._pick(["=", "<>", "<", "<=", ">", ">="])
        twins = [other for other in columns if other.group == column.group]
        if column.kind == "BOOLEAN":
            return self._pick([column.name, f"NOT {column.name}", f"{column.name} IS NOT TRUE"])
        some = self._literals(column)
        choices = [f"{column.name} {operator} {self._pick(some)}"] * 2
        choices.append(f"{column.name} {operator} {self._pick(twins).name}")
        choices.append(f"{column.name} IS {self._pick(['', 'NOT '])}NULL")
        choices.append(f"{column.name} {self._pick(['', 'NOT '])}IN ({', '.join(self._random.sample(some, 2))})")
        choices.append(f"{column.name} BETWEEN {some[0]} AND {some[-1]}")
        if column.kind in ("INT", "BIGINT"):
            choices.append(f"{column.name} + 1 {operator} {self._pick(twins).name}")
        if column.kind == "STRING":
            choices.append(f"{column.name} LIKE {self._pick(['q%', '%q'])!r}".replace('"', "'"))
        choices.append(f"COALESCE({column.name}, {some[0]}) {operator} {self._pick(some)}")
        return self._pick(choices)

    def _literals(self, column):
        if column.kind in NUMBERS:
            return ["0", "1", "2", "3"]
        return ["DATE '2024-02-28'", "DATE '2024-02-29'"] if column.kind == "DATE" else ["'p'", "'q'", "'qq'"]

    def _predicate(self, columns, depth, level=0):
        if level < 2 and self._chance(0.3):
            first, second = (self._predicate(columns, depth, level + 1) for _ in range(2))
            return self._pick([f"({first} AND {second})", f"({first} OR {second})", f"NOT ({first})"])
        if depth <= 0 or self._chance(0.6):
            return self._comparison(columns)
        return self._pick([self._in, self._exists, self._scalar])(columns, depth)

    def _in(self, columns, depth):
        inner, kinds = self._rows(depth - 1)
        name, column = self._name(), self._pick(columns)
        places = [i for i, kind in enumerate(kinds) if kind == column.kind and kind != "ROUND"]
        if not places:
            return self._comparison(columns)
        place = self._pick(places)
        word = self._pick(["IN", "NOT IN"])
        return f"{column.name} {word} (SELECT {name}.v{place} FROM ({inner}) AS {name})"

    def _exists(self, columns, depth):
        source, inner = self._from(depth - 1)
        link = self._equation([c for c in columns if c.kind != "NAN"], [c for c in inner if c.kind != "NAN"])
        where = self._where(inner, depth - 1)
        return f"{self._pick(['', 'NOT '])}EXISTS (SELECT 1 FROM {source}{where or ' WHERE TRUE'} AND {link})"

    def _scalar(self, columns, depth):
        numbers = [column for column in columns if column.kind in NUMBERS]
        if not numbers:
            return self._comparison(columns)
        source, inner = self._from(depth - 1)
        call, _ = self._call(inner, NUMBERS)
        where = self._where(inner, depth - 1)
        if self._chance(0.5):
            link = self._equation([c for c in columns if c.kind != "NAN"], [c for c in inner if c.kind != "NAN"])
            where = f"{where or ' WHERE TRUE'} AND {link}"
        return f"{self._pick(numbers).name} {self._pick(['=', '<', '>='])} (SELECT {call} FROM {source}{where})"

    def _item(self, columns):
        column = self._pick(columns)
        if column.kind in ("INT", "BIGINT") and self._chance(0.3):
            half = f"{column.name} / 2" if self._is_flink else f"{column.name} // 2"
            return self._pick([half, f"{column.name} + 1", f"ABS({column.name})"]), column.kind
        if self._chance(0.2) and column.kind not in ("NAN", "ROUND", "BOOLEAN"):
            return f"COALESCE({column.name}, {self._cast_literal(column)})", column.kind
        if self._chance(0.1) and column.kind in ("INT", "BIGINT", "STRING"):
            return self._json(column.name), "STRING"
        if self._chance(0.1):
            return f"CASE WHEN {self._comparison(columns)} THEN {column.name} END", column.kind
        return column.name, column.kind

    def _cast_literal(self, column):
        return f"CAST({self._literals(column)[0]} AS {column.kind})"
