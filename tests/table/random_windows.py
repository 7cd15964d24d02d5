"""Random queries by event time, in the dialects of Flink and DuckDB, which reads windows from tables of their rows."""

from __future__ import annotations

import random
import re
from datetime import datetime, timedelta

COLUMNS = {"id": "INT", "k": "INT", "g": "VARCHAR", "v": "INT", "ts": "TIMESTAMP(3)"}
DISORDER_MIN = 9
_START = datetime(2024, 3, 1, 23, 30)
_MINUTE = timedelta(minutes=1)


def random_tables(choose):
    """Return rows with unique times, those of `p` in an order that is wrong by less than `DISORDER_MIN` minutes.

    Those of `q` are in order: the view of its versions leaves out what is older than the version that it has.
    """
    return {"p": _random_rows(choose), "q": sorted(_random_rows(choose), key=lambda row: row[4])}


def changes_of(rows, choose):
    """Return messages of a changelog that leaves rows: some come with other values first, others are deleted again."""
    found = []
    for row in rows:
        number, key, group, value, time = row
        if choose.random() < 0.2:
            deleted = (number + 1000, choose.choice([None, 1, 2]), group, value, time)
            found += [(None, deleted), (deleted, None)]
        first = (number, choose.choice([key, 1, 2]), choose.choice([group, "a", None]), choose.choice([value, 7]), time)
        found += [(None, first)] + ([] if first == row else [(first, row)])
    return found


def _random_rows(choose):
    seconds = choose.sample(range(0, 5400, 15), choose.choice([1, 12, 24, 36]))
    rows = [
        (
            number,
            choose.choice([None, 1, 1, 2, 3]),
            choose.choice([None, "a", "b", "b"]),
            choose.choice([None, -1, 0, 1, 2, 3]),
            _START + timedelta(seconds=second),
        )
        for number, second in enumerate(seconds)
    ]
    return sorted(rows, key=lambda row: row[4] + choose.random() * DISORDER_MIN * _MINUTE)


def windowed(rows, kind, first, second):
    """Return the rows of TUMBLE(size, offset), HOP(slide, size), CUMULATE(step, size) or SESSION(gap) with windows."""
    if kind == "SESSION":
        return _sessions(rows, first * _MINUTE)
    return [(*row, *window) for row in rows for window in _windows(row[4], kind, first, second)]


def _windows(time, kind, first, second):
    if kind == "TUMBLE":
        size, start = first * _MINUTE, _floor(time, first, second)
        return [(start, start + size)]
    size = second * _MINUTE
    if kind == "HOP":
        starts = [_floor(time, first, 0) - number * first * _MINUTE for number in range(second // first)]
        return [(start, start + size) for start in starts if start <= time < start + size]
    start = _floor(time, second, 0)
    ends = [start + number * first * _MINUTE for number in range(1, second // first + 1)]
    return [(start, end) for end in ends if time < end]


def _floor(time, minutes, offset):
    since = (time - datetime(1970, 1, 1)) // _MINUTE - offset
    return datetime(1970, 1, 1) + (since // minutes * minutes + offset) * _MINUTE


def _sessions(rows, gap):
    found, open_rows = [], {}
    for row in sorted(rows, key=lambda row: row[4]):
        session = open_rows.get(row[1])
        if session is None or row[4] > session[-1][4] + gap:  # windows that touch are one
            session = open_rows[row[1]] = []
            found.append(session)
        session.append(row)
    return [(*row, session[0][4], session[-1][4] + gap) for session in found for row in session]


class WindowQuery:
    """A generator of queries; equal seeds make equal queries in both dialects.

    Args:
        seed: What determines the choices.
        dialect: `flink` or `duckdb`.

    Attributes:
        tables: What DuckDB needs of `windowed`, by the name of its table: table, kind and two numbers.
    """

    def __init__(self, seed, dialect):
        self._random = random.Random(seed)
        self._is_flink = dialect == "flink"
        self.tables = {}

    def query(self):
        """Return a query."""
        kinds = [self._group, self._group, self._legacy, self._top, self._top_of_groups, self._join, self._semi_join]
        return self._pick(
            [*kinds, self._over, self._over, self._interval_join, self._first_rows, self._temporal_join, self._cascade]
        )()

    def _pick(self, choices):
        return self._random.choice(choices)

    def _window(self, table, kinds=("TUMBLE", "HOP", "CUMULATE", "SESSION")):
        kind = self._pick(kinds)
        sizes = {
            "TUMBLE": [(10, 0), (15, 5), (60, 0), (1440, 0)],
            "HOP": [(5, 15), (10, 20), (30, 60)],
            "CUMULATE": [(10, 30), (15, 60)],
            "SESSION": [(2, 0), (4, 0), (10, 0)],
        }
        return kind, *self._pick(sizes[kind])

    def _rows_of(self, table, window):
        kind, first, second = window
        if not self._is_flink:
            name = f"{table}_{kind.lower()}_{first}_{second}"
            self.tables[name] = (table, *window)
            return name
        partition = " PARTITION BY k" if kind == "SESSION" else ""
        numbers = [first] if kind == "SESSION" or (kind == "TUMBLE" and not second) else [first, second]
        sizes = ", ".join(f"INTERVAL '{number}' MINUTE{'(4)' if number > 99 else ''}" for number in numbers)
        return f"TABLE({kind}(TABLE {table}{partition}, DESCRIPTOR(ts), {sizes}))"

    def _call(self):
        column = self._pick(["v", "id"])
        calls = ["COUNT(*)", "COUNT(v)", "SUM({0})", "MIN({0})", "MAX({0})", "MAX(g)", "COUNT(DISTINCT g)"]
        calls += ["SUM(DISTINCT v)", "COUNT(*) FILTER (WHERE v > 0)", "MAX(ts)"]
        return self._pick(calls).format(column)

    def _where(self, of=""):
        tests = ["v > 0", "v IS NOT NULL", "g = 'b'", "k < 3", "v <> 2 OR g IS NULL", "id <> 3"]
        test = self._pick([*tests, ""])
        for column in ("v", "g", "k", "id"):
            test = f" {test}".replace(f" {column} ", f" {of}{column} ").strip()
        return f" WHERE {test}" if test else ""

    def _keys(self, window):
        least = ["k"] if window[0] == "SESSION" else []
        return least + self._random.sample(["g"] if least else ["k", "g"], self._random.randrange(0, 2))

    def _groups(self, having=True):
        window = self._window("p")
        source, keys = self._rows_of("p", window), self._keys(window)
        calls = [f"{self._call()} AS c{number}" for number in range(self._random.randrange(1, 3))]
        items = ", ".join(["window_start", "window_end", *keys, *calls])
        by = ", ".join(["window_start", "window_end", *keys])
        if window[0] != "SESSION" and self._random.random() < 0.2:
            sets = self._pick(["GROUPING SETS ((k), (g))", "ROLLUP (k, g)", "CUBE (k, g)"])
            items = ", ".join(["window_start", "window_end", "k", "g", *calls])
            by = f"window_start, window_end, {sets}"
        test = self._pick(["", "", " HAVING COUNT(*) > 1", " HAVING MAX(v) > 0"]) if having else ""
        return f"SELECT {items} FROM {source}{self._where()} GROUP BY {by}{test}", keys

    def _group(self):
        return self._groups()[0]

    def _legacy(self):
        """Return a window of GROUP BY."""
        window = self._window("p", ("TUMBLE", "HOP", "SESSION"))
        kind, first, second = window
        keys = self._keys(window)
        calls, where = [self._call() for _ in range(2)], self._where()
        if kind == "SESSION":  # of the groups of the rows that are left, other than the function's
            keys, where = ["k"], ""
        if not self._is_flink or (kind == "TUMBLE" and second):  # these have no offset
            source = self._rows_of("p", window)
            by = ", ".join(["window_start", "window_end", *keys])
            return f"SELECT {', '.join([by, *calls])} FROM {source}{where} GROUP BY {by}"
        numbers = [first, second] if kind == "HOP" else [first]
        sizes = ", ".join(f"INTERVAL '{number}' MINUTE{'(4)' if number > 99 else ''}" for number in numbers)
        bounds = [f"{kind}_{end}(ts, {sizes})" for end in ("START", "END")]
        by = ", ".join([f"{kind}(ts, {sizes})", *keys])
        return f"SELECT {', '.join([*bounds, *keys, *calls])} FROM p{where} GROUP BY {by}"

    def _top(self):
        """Return the first rows of windows, by values or by time."""
        window = self._window("p", ("TUMBLE", "HOP", "CUMULATE"))
        source, keys = self._rows_of("p", window), self._pick([[], ["k"], ["g"]])
        order, least = self._pick([("v, id", 2), ("v DESC, id", 1), ("ts", 1), ("ts DESC", 1), ("id", 3)])
        partition = ", ".join(["window_start", "window_end", *keys])
        number = f"ROW_NUMBER() OVER (PARTITION BY {partition} ORDER BY {order}) AS n"
        inner = f"SELECT *, {number} FROM {source}{self._where()}"
        return f"SELECT window_start, window_end, id, k, g FROM ({inner}) AS x WHERE n <= {least}"

    def _top_of_groups(self):
        inner, keys = self._groups(having=False)
        order = ", ".join(["c0", "window_start", *keys])
        number = f"ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY c0 DESC, {order}) AS n"
        if "k, g" in inner.partition("GROUP BY")[0]:  # grouping sets: groups can't be told apart
            return inner
        return f"SELECT window_start, window_end, c0, n FROM (SELECT *, {number} FROM ({inner}) AS y) AS x WHERE n <= 2"

    def _join(self):
        window = self._window("p", ("TUMBLE", "HOP", "CUMULATE"))
        sides = [
            f"(SELECT * FROM {self._rows_of(table, window)}{self._where()}) AS {name}"
            for table, name in (("p", "x"), (self._pick(["p", "q"]), "y"))
        ]
        kind = self._pick(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        key = self._pick(["x.k = y.k", "x.g = y.g", "x.k = y.k AND x.v < y.v"])
        on = f"{key} AND x.window_start = y.window_start AND x.window_end = y.window_end"
        return f"SELECT x.window_start, y.window_end, x.id, y.id, x.g, y.v FROM {sides[0]} {kind} {sides[1]} ON {on}"

    def _semi_join(self):
        window = self._window("p", ("TUMBLE", "HOP"))
        left, right = (self._rows_of(table, window) for table in ("p", "q"))
        where, word = self._where("y."), self._pick(["EXISTS", "NOT EXISTS"])
        link = "x.k = y.k AND x.window_start = y.window_start AND x.window_end = y.window_end"
        inner = f"SELECT 1 FROM (SELECT * FROM {right}) AS y{where or ' WHERE TRUE'} AND {link}"
        inner = inner.replace("y.v <> 2 OR y.g IS NULL", "(y.v <> 2 OR y.g IS NULL)")
        return f"SELECT x.id, x.window_start FROM (SELECT * FROM {left}) AS x WHERE {word} ({inner})"

    def _over(self):
        key = self._pick(["k", "g"])
        bound = self._pick(["UNBOUNDED", "2", "0", "INTERVAL '10' MINUTE", "INTERVAL '1' HOUR"])
        word = "RANGE" if "INTERVAL" in bound or (bound == "UNBOUNDED" and self._pick([True, False])) else "ROWS"
        frame = f"{word} BETWEEN {bound} PRECEDING AND CURRENT ROW"
        calls = ["COUNT(*)", "COUNT(v)", "SUM(v)", "MIN(v)", "MAX(id)", "SUM(id)", "MAX(g)"]
        over = f"PARTITION BY {key} ORDER BY ts"
        items = [f"{call} OVER ({over} {frame})" for call in self._random.sample(calls, 2)]
        items += [self._pick([f"ROW_NUMBER() OVER ({over})", f"LAG(id) OVER ({over})", f"LAG(v, 2) OVER ({over})"])]
        return f"SELECT id, {', '.join(items)} FROM p{self._where()}"

    def _interval_join(self):
        kind = self._pick(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
        before, after = self._pick([(0, 5), (5, 0), (10, 10), (3, 20)])
        key = self._pick(["x.k = y.k", "x.g = y.g", "x.k = y.k AND x.v <= y.v"])
        time = f"x.ts BETWEEN y.ts - INTERVAL '{before}' MINUTE AND y.ts + INTERVAL '{after}' MINUTE"
        return f"SELECT x.id, y.id, x.v, y.g FROM p AS x {kind} {self._pick(['p', 'q'])} AS y ON {key} AND {time}"

    def _first_rows(self):
        order, key = self._pick(["ts", "ts DESC"]), self._pick(["k", "g", "k, g"])
        number = f"ROW_NUMBER() OVER (PARTITION BY {key} ORDER BY {order}) AS n"
        return f"SELECT id, k, g, v FROM (SELECT *, {number} FROM p{self._where()}) AS x WHERE n = 1"

    def _cascade(self):
        """Return windows of the results of smaller windows."""
        (inner, outer), key, where = self._pick([(5, 15), (10, 60), (15, 30)]), self._pick(["k", "g"]), self._where()
        source = self._rows_of("p", ("TUMBLE", inner, 0))
        calls, above = f"{key}, COUNT(*) AS c, SUM(v) AS s, MAX(id) AS m", f"{key}, SUM(c), SUM(s), MAX(m)"
        by = f"GROUP BY window_start, window_end, {key}"
        if not self._is_flink:
            start = f"time_bucket(INTERVAL '{outer} minutes', window_start) AS b"
            inner = f"SELECT {start}, {calls} FROM {source}{where} {by}"
            return f"SELECT b, b + INTERVAL '{outer} minutes', {above} FROM ({inner}) AS x GROUP BY b, {key}"
        inner = f"SELECT window_time AS t, {calls} FROM {source}{where} {by}, window_time"
        windows = f"TABLE(TUMBLE(TABLE w, DESCRIPTOR(t), INTERVAL '{outer}' MINUTE))"
        return f"WITH w AS ({inner}) SELECT window_start, window_end, {above} FROM {windows} {by}"

    def _temporal_join(self):
        kind = self._pick(["JOIN", "LEFT JOIN"])
        if self._is_flink:
            return f"SELECT x.id, y.id, y.v FROM p AS x {kind} versions FOR SYSTEM_TIME AS OF x.ts AS y ON x.k = y.k"
        found = f"p AS x ASOF {kind} (SELECT * FROM q WHERE k IS NOT NULL) AS y ON x.k = y.k AND x.ts >= y.ts"
        return f"SELECT x.id, y.id, y.v FROM {found}"


_NEEDED = ["", "", "+", "{2}", "{1,2}"]


class Pattern:
    """A query with MATCH_RECOGNIZE whose symbols exclude each other, so that Python's `re` finds its matches.

    Args:
        seed: What determines the choices.
    """

    def __init__(self, seed):
        choose = random.Random(seed)
        # As symbols exclude each other, and none occurs twice, it does not matter how greedy a loop is.
        first, second, last = choose.sample("ABC", 3)
        many = choose.choice([*_NEEDED, "?", "*"])
        # What is optional can't follow what is greedy, and a pattern can't end with that.
        following = _NEEDED if many in ("+", "*", "{1,2}") else [*_NEEDED, "?", "*"]
        self._parts = [(first, many), (second, choose.choice(following)), (last, "")]
        self._skips_to_next = choose.random() < 0.4

    def query(self):
        """Return the query, of the first and last id, and the count."""
        tests = {"A": "v <= 0", "B": "v = 1", "C": "v >= 2"}
        pattern = " ".join(f"{symbol}{many}" for symbol, many in self._parts)
        defined = ", ".join(f"{symbol} AS {symbol}.{tests[symbol]}" for symbol, _ in self._parts)
        last, skip = self._parts[-1][0], "TO NEXT ROW" if self._skips_to_next else "PAST LAST ROW"
        return (
            "SELECT k, b, e FROM (SELECT * FROM p WHERE v IS NOT NULL) MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts "
            f"MEASURES FIRST(id) AS b, {last}.id AS e ONE ROW PER MATCH AFTER MATCH SKIP {skip} "
            f"PATTERN ({pattern}) DEFINE {defined})"
        )

    def expected(self, rows):
        """Return the matches in rows of `p`."""
        regex = re.compile("".join(f"{symbol}{many}" for symbol, many in self._parts))
        partitions: dict = {}
        for row in sorted(rows, key=lambda row: row[4]):
            if row[3] is not None:
                partitions.setdefault(row[1], []).append(row)
        found = []
        for key, part in partitions.items():
            text, at = "".join("A" if row[3] <= 0 else "B" if row[3] == 1 else "C" for row in part), 0
            while match := regex.search(text, at):
                found.append((key, part[match.start()][0], part[match.end() - 1][0]))
                at = match.start() + 1 if self._skips_to_next else match.end()
        return found
