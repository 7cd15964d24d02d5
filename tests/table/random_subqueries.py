"""Random queries with correlated subqueries, as Flink and SQLite write them."""

from __future__ import annotations

import random

COLUMNS = {"t": ("a", "b", "s"), "u": ("c", "d", "r"), "w": ("x", "y", "z")}
"""Two numbers and a text each; `x` is never NULL, and `y` is a DOUBLE."""


def random_tables(choose):
    """Return rows of the tables, with NULLs and duplicates, and sometimes none."""

    def number():
        return None if choose.random() < 0.2 else choose.randrange(-2, 4)

    def text():
        return choose.choice(["p", "q", "qq", "", None])

    def rows(first, second):
        found = [(first(), second(), text()) for _ in range(choose.choice([0, 3, 6, 6, 9, 12]))]
        return found + choose.choices(found, k=2) if found else []

    def half():
        value = number()
        return None if value is None else value / 2

    return {"t": rows(number, number), "u": rows(number, number), "w": rows(lambda: choose.randrange(-2, 4), half)}


class Tables:
    """The columns of the tables in a FROM clause."""

    def __init__(self, numbers, texts):
        self.numbers = numbers
        self.texts = texts


class RandomQuery:
    """A generator of queries; equal seeds make equal queries in both dialects.

    Args:
        seed: What determines the choices.
        dialect: `flink` or `sqlite`.
        mode: `batch` or `streaming`, where OVER windows need time attributes.
    """

    def __init__(self, seed, dialect, mode):
        self._random = random.Random(seed)
        self._dialect = dialect
        self._mode = mode
        self._names = 0
        self._budget = self._random.randrange(1, 5)  # of subqueries

    def query(self):
        """Return a query of two numbers."""
        source, tables = self._source([])
        where = self._where(tables, [])
        if self._random.random() < 0.25:
            key = self._pick(tables.numbers)
            groups = Tables([key], [])
            items = [key, self._value([groups])]
            test = self._predicate([groups]) if self._random.random() < 0.5 else "COUNT(*) > 0"
            return f"SELECT {self._as_doubles(items)} FROM {source}{where} GROUP BY {key} HAVING {test}"
        items = [self._value([tables]), self._value([tables])]
        return f"SELECT {self._as_doubles(items)} FROM {source}{where}"

    def _as_doubles(self, items):
        return ", ".join(f"CAST({item} AS DOUBLE) AS v{place}" for place, item in enumerate(items))

    def _pick(self, choices):
        return self._random.choice(choices)

    def _name(self):
        self._names += 1
        return f"q{self._names}"

    # --- tables --------------------------------------------------------------------------------------------------

    def _source(self, outer):
        """Return a FROM clause and its columns; `outer` are the tables of the queries around, the nearest last."""
        if self._random.random() < 0.7:
            return self._item([])
        left, on_left = self._item([] if self._random.random() < 0.5 else outer)
        right, on_right = self._item([] if self._random.random() < 0.5 else outer)
        both = Tables(on_left.numbers + on_right.numbers, on_left.texts + on_right.texts)
        kind = self._pick(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        equal = f"{self._pick(on_left.numbers)} = {self._pick(on_right.numbers)}"
        extra = ""
        if kind == "JOIN" and self._random.random() < 0.4:
            extra = f" AND {self._predicate([*outer, both])}"
        elif kind != "FULL JOIN" and outer and self._random.random() < 0.4:
            extra = f" AND {self._comparison([*outer, both])}"
        return f"{left} {kind} {right} ON {equal}{extra}", both

    def _item(self, outer):
        name = self._name()
        if outer and self._budget > 0:
            return f"({self._rows(outer, 1)}) AS {name}", Tables([f"{name}.v0"], [])
        table = self._pick(list(COLUMNS))
        first, second, text = (f"{name}.{column}" for column in COLUMNS[table])
        return f"{table} AS {name}", Tables([first, second], [text])

    # --- conditions ----------------------------------------------------------------------------------------------

    def _where(self, tables, outer):
        count = self._pick([0, 0, 1, 1, 2]) if outer else self._pick([0, 0, 1])
        parts = [self._predicate([*outer, tables]) for _ in range(count)]
        if outer and self._random.random() < 0.8:
            parts.append(self._link(outer, tables))
        return f" WHERE {' AND '.join(parts)}" if parts else ""

    def _link(self, outer, tables):
        """Return a comparison of these tables with those of a query around."""
        around = self._pick(outer)
        if around.texts and tables.texts and self._random.random() < 0.2:
            return f"{self._pick(tables.texts)} = {self._pick(around.texts)}"
        operator = self._pick(["=", "=", "=", "=", "<", "<=", "<>", ">"])
        value = self._pick(around.numbers)
        if self._random.random() < 0.2:
            value = f"{value} + {self._pick([*tables.numbers, '1'])}"
        return f"{self._pick(tables.numbers)} {operator} {value}"

    def _number(self, scopes):
        return self._pick(scopes[-1].numbers if self._random.random() < 0.6 else self._pick(scopes).numbers)

    def _comparison(self, scopes):
        operator = self._pick(["=", "<>", "<", "<=", ">"])
        return self._pick(
            [
                f"{self._number(scopes)} {operator} {self._number(scopes)}",
                f"{self._number(scopes)} {operator} {self._random.randrange(-1, 3)}",
                f"{self._number(scopes)} IS {self._pick(['', 'NOT '])}NULL",
            ]
        )

    def _predicate(self, scopes, depth=0):
        kind = self._random.randrange(12)
        if kind < 3 and depth < 2:
            parts = [self._predicate(scopes, depth + 1) for _ in range(2)]
            return [f"({parts[0]} AND {parts[1]})", f"({parts[0]} OR {parts[1]})", f"NOT ({parts[0]})"][kind]
        if self._budget <= 0 or kind < 6:
            return self._comparison(scopes)
        negation = self._pick(["", "NOT "])
        if kind == 6:
            return f"{negation}EXISTS ({self._rows(scopes, self._pick([1, 2]))})"
        if kind == 7:
            return f"{self._number(scopes)} {negation}IN ({self._rows(scopes, 1)})"
        if kind == 8:
            pair = f"({self._number(scopes)}, {self._number(scopes)})"
            return f"{pair} {negation}IN ({self._rows(scopes, 2)})"
        operator = self._pick(["=", "<>", "<", "<=", ">", ">="])
        if kind == 9:
            return self._quantified(scopes, operator)
        return f"{self._number(scopes)} {operator} ({self._scalar(scopes)})"

    def _quantified(self, scopes, operator):
        """Return a comparison with ALL or ANY values, which SQLite does not have."""
        value, word = self._number(scopes), self._pick(["ALL", "ANY"])
        rows, name = self._rows(scopes, 1), self._name()
        if self._dialect == "flink":
            return f"{value} {operator} {word} ({rows})"
        holds = f"({value} {operator} {name}.v0)"
        decides = f"EXISTS (SELECT 1 FROM ({rows}) AS {name} WHERE {holds} = {int(word == 'ANY')})"
        unknown = f"EXISTS (SELECT 1 FROM ({rows}) AS {name} WHERE {holds} IS NULL)"
        return f"CASE WHEN {decides} THEN {int(word == 'ANY')} WHEN {unknown} THEN NULL ELSE {int(word == 'ALL')} END"

    # --- subqueries ----------------------------------------------------------------------------------------------

    def _value(self, scopes):
        if self._budget > 0 and self._random.random() < 0.6:
            return f"({self._scalar(scopes)})"
        if self._budget > 0 and self._random.random() < 0.3:
            return f"CAST(({self._predicate(scopes)}) AS INT)"
        return self._number(scopes)

    def _scalar(self, scopes):
        """Return a query of one number and at most one row."""
        self._budget -= 1
        if self._random.random() < 0.25:
            return self._limited(scopes, 1, 1)
        source, tables = self._source(scopes)
        return self._aggregate(scopes, source, tables, self._where(tables, scopes), "")

    def _aggregate(self, scopes, source, tables, where, group):
        one = self._pick(tables.numbers)
        calls = ["COUNT(*)", f"COUNT({one})", f"COUNT(DISTINCT {one})", f"SUM({one})", f"MIN({one})", f"MAX({one})"]
        calls += [f"COUNT(*) + {self._pick(self._pick(scopes).numbers)}", f"COALESCE(SUM({one}), 7)"]
        calls += [f"SUM({one} + {self._pick(self._pick(scopes).numbers)})", f"COUNT(*) FILTER (WHERE {one} > 0)"]
        having = ""
        if self._random.random() < 0.25:
            bound = self._pick(["0", "1", self._pick(self._pick(scopes).numbers)])
            having = f" HAVING COUNT(*) {self._pick(['>', '<=', '='])} {bound}"
        return f"SELECT {self._pick(calls)} AS v0 FROM {source}{where}{group}{having}"

    def _rows(self, scopes, width):
        """Return a query of so many numbers, `v0` and so on."""
        self._budget -= 1
        kind = self._random.randrange(10)
        if kind == 0 and width == 1:
            source, tables = self._source(scopes)
            return self._aggregate(scopes, source, tables, self._where(tables, scopes), "")
        if kind == 1 and width == 1:
            source, tables = self._source(scopes)
            group = f" GROUP BY {self._pick(tables.numbers)}"
            return self._aggregate(scopes, source, tables, self._where(tables, scopes), group)
        if kind == 2:
            operation = self._pick(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
            return f"{self._plain(scopes, width)} {operation} {self._plain(scopes, width)}"
        if kind == 3:
            return self._limited(scopes, width, self._random.randrange(1, 4))
        if kind == 4:
            name = self._name()
            columns = Tables([f"{name}.v{i}" for i in range(width)], [])
            items = ", ".join(f"{column} AS v{i}" for i, column in enumerate(columns.numbers))
            inner = self._rows(scopes, width)
            return f"SELECT {items} FROM ({inner}) AS {name}{self._where(columns, scopes)}"
        if kind == 5:
            name = self._name()
            items = ", ".join(f"{name}.v{i} + 1 AS v{i}" for i in range(width))
            return f"WITH {name} AS ({self._plain(scopes, width)}) SELECT {items} FROM {name}"
        if kind == 6 and width == 1:
            return self._windowed(scopes)
        return self._plain(scopes, width)

    def _plain(self, scopes, width):
        source, tables = self._source(scopes)
        values = [*tables.numbers, f"{self._pick(tables.numbers)} + {self._pick(self._pick(scopes).numbers)}"]
        items = ", ".join(f"{self._pick(values)} AS v{i}" for i in range(width))
        distinct = self._pick(["", "", "DISTINCT "])
        return f"SELECT {distinct}{items} FROM {source}{self._where(tables, scopes)}"

    def _limited(self, scopes, width, count):
        name = self._name()
        items = ", ".join(f"{name}.v{i} AS v{i}" for i in range(width))
        order = ", ".join(f"{name}.v{i}{self._pick(['', ' DESC'])}" for i in range(width))
        offset = self._pick(["", "", f" OFFSET {self._random.randrange(1, 3)}"])
        return f"SELECT {items} FROM ({self._plain(scopes, width)}) AS {name} ORDER BY {order} LIMIT {count}{offset}"

    def _windowed(self, scopes):
        """Return the first rows of partitions, or what an OVER window counts; the latter not over a stream."""
        source, tables = self._source(scopes)
        name, key, value = self._name(), self._pick(tables.numbers), self._pick(tables.numbers)
        where = self._where(tables, scopes)
        if self._mode == "batch" and self._random.random() < 0.5:
            return f"SELECT SUM({value}) OVER (PARTITION BY {key}) AS v0 FROM {source}{where}"
        number = f"ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {value}) AS n"
        return (
            f"SELECT {name}.v0 FROM (SELECT {value} AS v0, {number} FROM {source}{where}) AS {name} WHERE {name}.n <= 2"
        )
