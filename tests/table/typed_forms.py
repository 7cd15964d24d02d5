"""Forms of queries beside those of `typed_queries.py`, in the dialects of Flink and DuckDB."""

from __future__ import annotations


class QueryForms:
    """The forms; `TypedQuery` has what they are made of."""

    def _grouping_sets(self, depth):
        source, columns = self._from(depth)
        where = self._where(columns, depth)
        keys = self._random.sample(columns, min(len(columns), self._random.randrange(1, 4)))
        names = [key.name for key in keys]
        items = [(key.name, key.kind) for key in keys]
        items += [(f"GROUPING({self._pick(names)})", "BIGINT")] if self._chance(0.5) else []
        items += [self._call(columns) for _ in range(self._random.randrange(1, 3))]
        text, kinds = self._items(items)
        sets = [self._random.sample(names, self._random.randrange(0, len(names) + 1)) for _ in range(3)]
        every = f"GROUPING SETS ({', '.join('(' + ', '.join(one) + ')' for one in [names, *sets])})"
        words = [every, f"ROLLUP ({', '.join(names)})", f"CUBE ({', '.join(names)})"]
        # The empty set has a row even without rows, but not in Flink.
        having = "" if self._is_flink else " HAVING COUNT(*) > 0"
        return f"SELECT {text} FROM {source}{where} GROUP BY {self._pick(words)}{having}", kinds

    def _with(self, depth):
        """Return a query that uses a common table once or twice."""
        inner, kinds = self._rows(depth - 1)
        name, left, right = self._name(), self._name(), self._name()
        columns, others = self._columns(left, kinds), self._columns(right, kinds)
        source = f"{name} AS {left}"
        if self._chance(0.5):
            kind = self._pick(["JOIN", "LEFT JOIN"])
            source, columns = (
                f"{source} {kind} {name} AS {right} ON {self._equation(columns, others)}",
                columns + others,
            )
        text, kinds = self._items([(column.name, column.kind) for column in columns[:3]])
        query = f"WITH {name} AS ({inner}) SELECT {text} FROM {source}{self._where(columns, 0)}"
        outer = self._name()
        text, kinds = self._items([(column.name, column.kind) for column in self._columns(outer, kinds)])
        return f"SELECT {text} FROM ({query}) AS {outer}", kinds

    def _values(self):
        name = self._name()
        texts = [f"({number}, CAST('{self._pick(['p', 'q', 'qq'])}' AS VARCHAR))" for number in (1, 2, 2)]
        return f"(VALUES {', '.join(texts)}) AS {name} (v0, v1)", self._columns(name, ["INT", "STRING"])

    def _unnested(self):
        """Return a table and the elements of arrays of its columns."""
        text, columns = self._table(0)
        kind = self._pick([column.kind for column in columns if column.kind != "ROUND"])
        chosen = [column.name for column in columns if column.kind == kind]
        name = self._name()
        array = f"{'ARRAY' if self._is_flink else ''}[{', '.join(chosen * 2 if self._chance(0.3) else chosen)}]"
        return f"{text} CROSS JOIN UNNEST({array}) AS {name} (v0)", [*columns, *self._columns(name, [kind])]

    def _lateral(self):
        """Return a table, and some rows of another one for each of its rows."""
        left, columns = self._table(0)
        right, others = self._table(0)
        inner = [column for column in others if column.kind != "NAN"]
        outer = [column for column in columns if column.kind != "NAN"]
        text, kinds = self._items([(column.name, column.kind) for column in inner])
        where = f" WHERE {self._equation(inner, outer)}"
        order, kind = ", ".join(column.name for column in inner), self._pick(["CROSS JOIN", "LEFT JOIN"])
        limit = f" ORDER BY {order} LIMIT {self._random.randrange(1, 3)}" if self._chance(0.6) else ""
        name = self._name()
        query = f"{left} {kind} LATERAL (SELECT {text} FROM {right}{where}{limit}) AS {name}"
        return f"{query}{' ON TRUE' if kind == 'LEFT JOIN' else ''}", [*columns, *self._columns(name, kinds)]

    def _table_function(self):
        """Return a table and the rows of a function of one of its numbers."""
        left, columns = self._table(0)
        numbers = [column.name for column in columns if column.kind == "INT"]
        name, kind = self._name(), self._pick(["CROSS JOIN", "LEFT JOIN"])
        if not numbers:
            return left, columns
        value = self._pick(numbers)
        call = f"(SELECT UNNEST(RANGE({value})) AS v0)"
        if self._is_flink:
            call = f"TABLE(numbers_below({value}))"
        text = f"{left} {kind} LATERAL {call} AS {name}{'(v0)' if self._is_flink else ''}"
        return f"{text}{' ON TRUE' if kind == 'LEFT JOIN' else ''}", [*columns, *self._columns(name, ["BIGINT"])]

    def _looked_up(self):
        """Return a table and the rows of an external one, which are looked up by a number."""
        left, columns = self._table(0)
        numbers = [column.name for column in columns if column.kind in ("INT", "BIGINT")]
        name, timed, kind = self._name(), self._name(), self._pick(["JOIN", "LEFT JOIN"])
        if not numbers:
            return left, columns
        text, kinds = self._items([(column.name, column.kind) for column in columns])
        key = f"{timed}.v{[column.name for column in columns].index(self._pick(numbers))}"
        time, moment = (", PROCTIME() AS p", f"FOR SYSTEM_TIME AS OF {timed}.p ") if self._is_flink else ("", "")
        found = f"(SELECT {text}{time} FROM {left}) AS {timed} {kind} looked_up {moment}AS {name} ON {key} = {name}.v0"
        return found, [*self._columns(timed, kinds), *self._columns(name, ["BIGINT", "STRING"])]

    def _json(self, value):
        """Return a value as the text that it has in JSON."""
        if self._is_flink:
            return f"JSON_VALUE(JSON_OBJECT('k' VALUE {value}), '$.k')"
        return f"JSON_EXTRACT_STRING(JSON_OBJECT('k', {value}), '$.k')"

    def _using(self, depth):
        """Return a join by the names of columns."""
        left, kinds = self._rows(depth - 1)
        right, others = self._rows(depth - 1)
        pairs = [
            (i, j) for i, a in enumerate(kinds) for j, b in enumerate(others) if a == b and a not in ("NAN", "ROUND")
        ]
        if not pairs:
            return left, kinds
        (i, j), names = self._pick(pairs), [self._name() for _ in range(4)]
        sides = [
            f"(SELECT {one}.v{at} AS k, {one}.v{rest} AS {other} FROM ({query}) AS {one}) AS {side}"
            for one, side, query, at, rest, other in (
                (names[0], names[1], left, i, len(kinds) - 1, "x"),
                (names[2], names[3], right, j, 0, "y"),
            )
        ]
        kind = self._pick(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        natural = self._chance(0.3)
        on = f"{'NATURAL ' if natural else ''}{kind} {sides[1]}{'' if natural else ' USING (k)'}"
        text, kinds = self._items([("k", kinds[i]), ("x", kinds[-1]), ("y", others[0])])
        return f"SELECT {text} FROM {sides[0]} {on}", kinds

    def _qualified(self, depth):
        """Return a query with QUALIFY."""
        inner, kinds = self._rows(depth - 1)
        name = self._name()
        columns = self._columns(name, kinds)
        order = ", ".join(f"{column.name}{self._pick(['', ' DESC'])}" for column in columns)
        text, kinds = self._items([(column.name, column.kind) for column in columns])
        over = f"OVER (PARTITION BY {columns[0].name} ORDER BY {order})"
        return f"SELECT {text} FROM ({inner}) AS {name} QUALIFY ROW_NUMBER() {over} <= {self._pick([1, 2])}", kinds

    # --- OVER ----------------------------------------------------------------------------------------------------

    def _over(self, depth):
        """Return aggregates over whole partitions, over frames of rows or of peers, or numbers of rows.

        Frames of rows are ordered by all columns, so that equal rows have equal results, whichever comes first.
        """
        inner, kinds = self._rows(depth - 1)
        name = self._name()
        columns = self._columns(name, kinds)
        key = self._pick(columns)
        every = ", ".join(f"{column.name}{self._pick(['', ' DESC'])}" for column in columns)
        partition = f"PARTITION BY {key.name}"
        if self._mode == "streaming":
            over = self._running(columns, key)
        else:
            over = self._pick([self._whole, self._frame, self._neighbour, self._number])(columns, partition, every)
        text, kinds = self._items([(column.name, column.kind) for column in columns] + [over])
        return f"SELECT {text} FROM ({inner}) AS {name}", kinds

    def _simple_call(self, columns):
        call, kind = self._call(columns)
        while any(word in call for word in ("DISTINCT", "FILTER", "TRUNC", "AVG")):
            call, kind = self._call(columns)
        return call, kind

    def _whole(self, columns, partition, every):
        call, kind = self._simple_call(columns)
        return f"{call} OVER ({partition})", kind

    def _frame(self, columns, partition, every):
        call, kind = self._simple_call(columns)
        start = self._pick(["UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING"])
        end = self._pick(
            ["UNBOUNDED FOLLOWING", "2 FOLLOWING", "CURRENT ROW" if "FOLLOWING" not in start else "1 FOLLOWING"]
        )
        frame = self._pick(
            ["", f" ROWS BETWEEN {start} AND {end}", " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"]
        )
        return f"{call} OVER ({partition} ORDER BY {every}{frame})", kind

    def _neighbour(self, columns, partition, every):
        column = self._pick(columns)
        nulls = "" if self._is_flink else " IGNORE NULLS"  # as Flink's functions do
        call = self._pick(
            ["LAG({0})", "LEAD({0})", "LAG({0}, 2)", "LEAD({0}, 2)", "FIRST_VALUE({0}{1})", "LAST_VALUE({0}{1})"]
        )
        return f"{call.format(column.name, nulls)} OVER ({partition} ORDER BY {every})", column.kind

    def _number(self, columns, partition, every):
        call, kind = self._pick(
            [
                ("ROW_NUMBER()", "BIGINT"),
                ("RANK()", "BIGINT"),
                ("DENSE_RANK()", "BIGINT"),
                ("NTILE(3)", "BIGINT"),
                ("PERCENT_RANK()", "ROUND"),
                ("CUME_DIST()", "ROUND"),
            ]
        )
        return f"{call} OVER ({partition} ORDER BY {every})", kind

    def _running(self, columns, key):
        """Return an aggregate over all rows up to the present one, as Flink has it over streams without time."""
        call, kind = self._simple_call(columns)
        by = self._pick([column for column in columns if column.kind not in ("NAN", "BOOLEAN")] or [key])
        frame = self._pick(["", " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"])
        return f"{call} OVER (PARTITION BY {key.name} ORDER BY {by.name}{frame})", kind
