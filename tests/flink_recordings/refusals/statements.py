"""Random statements, of which each other one has something wrong: a type, an arity, a clause or a mode.

It needs nothing but Python, so that Flink's side generates the same ones.
"""

from __future__ import annotations

import random
from collections.abc import Callable

TABLES = (
    """CREATE TABLE s (a STRING, b STRING, n INT, v BIGINT, d DOUBLE, e DECIMAL(10, 2), bo BOOLEAN, dt DATE,
    arr ARRAY<INT>, m MAP<STRING, INT>, r ROW<x INT, y STRING>, ts TIMESTAMP(3), tl TIMESTAMP_LTZ(3), p AS PROCTIME(),
    WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'datagen', 'number-of-rows' = '9')""",
    """CREATE TABLE t (a STRING, k INT NOT NULL, w BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
    WITH ('connector' = 'datagen', 'number-of-rows' = '9')""",
    """CREATE TABLE keyed (k INT NOT NULL, a STRING, w BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts,
    PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'datagen', 'number-of-rows' = '9')""",
    "CREATE TABLE plain (a STRING, n INT, v BIGINT) WITH ('connector' = 'blackhole')",
    "CREATE TABLE files (a STRING, n INT) WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'csv')",
    "CREATE VIEW g AS SELECT a, COUNT(*) AS c, SUM(n) AS n, MAX(ts) AS ts FROM s GROUP BY a",
)
MODES = ("streaming", "batch")
COUNT, SEED = 660, 7
"""How many statements are recorded, and the seed that gives them."""

Choose = random.Random
NUMBERS, TEXTS = ("n", "v", "d", "e"), ("a", "b")
COLUMNS = (*NUMBERS, *TEXTS, "bo", "dt", "arr", "m", "r", "ts", "tl", "p")
TIMES = ("ts", "ts", "ts", "tl", "p", "dt", "n", "MISSING")


def scalar(choose: Choose, depth: int = 0) -> str:
    """Return an expression over `s`, now and then of types that do not fit."""
    one = (lambda: scalar(choose, depth + 1)) if depth < 2 else (lambda: choose.choice(COLUMNS))
    number = choose.choice([*NUMBERS, "1", "2.5", "1e0", "n + 1"])
    text = choose.choice([*TEXTS, "'x'", "UPPER(a)"])
    return choose.choice(
        [
            number,
            text,
            choose.choice(COLUMNS),
            f"{one()} {choose.choice(['+', '-', '*', '/', '%', '||', '=', '<', '<>', 'AND', 'OR'])} {one()}",
            f"{choose.choice(['ABS', 'UPPER', 'CHAR_LENGTH', 'FLOOR', 'NOT', 'CARDINALITY', 'YEAR'])}({one()})",
            f"{choose.choice(['COALESCE', 'NULLIF', 'MOD', 'CONCAT', 'IFNULL', 'LEFT', 'ROUND'])}({one()}, {one()})",
            f"SUBSTRING({text}, {number})",
            f"CASE WHEN {one()} THEN {one()} ELSE {one()} END",
            f"CAST({one()} AS {choose.choice(['INT', 'STRING', 'DATE', 'BOOLEAN', 'DECIMAL(5, 2)', 'TIMESTAMP(3)'])})",
            f"{one()} IN ({one()}, {one()})",
            f"{one()} BETWEEN {one()} AND {one()}",
            f"{one()} IS {choose.choice(['NULL', 'NOT NULL', 'TRUE', 'NOT FALSE'])}",
            f"{one()} LIKE {one()}",
            f"{one()}[{choose.choice(['1', '0', 'n', repr('x')])}]",
            f"r.{choose.choice(['x', 'y', 'z'])}",
            f"ARRAY[{one()}, {one()}]",
            f"ROW({one()}, NULL)" if choose.random() < 0.2 else f"ROW({one()}, {one()})",
            f"MAP[{one()}, {one()}]",
            f"TIMESTAMPDIFF({choose.choice(['DAY', 'SECOND', 'FOO'])}, {one()}, {one()})",
            f"EXTRACT({choose.choice(['YEAR', 'HOUR', 'DOW'])} FROM {one()})",
            f"({choose.choice(TIMES)} - {choose.choice(TIMES)}) {choose.choice(['DAY TO SECOND', 'DAY', 'MONTH'])}",
            f"{choose.choice(TIMES)} + INTERVAL '1' {choose.choice(['DAY', 'MONTH', 'SECOND', 'QUARTER'])}",
            f"JSON_VALUE({one()}, '$.x')",
            f"SHA2({text}, {choose.choice(['256', '128', 'n', text])})",
            f"NO_FUNCTION({one()})",
        ]
    )


def aggregate(choose: Choose) -> str:
    argument = choose.choice([*COLUMNS, *NUMBERS, scalar(choose, 1)])
    distinct = choose.choice(["", "", "DISTINCT "])
    return choose.choice(
        [
            "COUNT(*)",
            f"{choose.choice(['SUM', 'AVG', 'MIN', 'MAX', 'COUNT', 'STDDEV_POP'])}({distinct}{argument})",
            f"{choose.choice(['LISTAGG', 'COLLECT', 'ARRAY_AGG', 'FIRST_VALUE', 'LAST_VALUE'])}({distinct}{argument})",
            f"COUNT(DISTINCT {argument}) FILTER (WHERE {scalar(choose, 1)})",
            f"JSON_OBJECTAGG(KEY {argument} VALUE n)",
            f"APPROX_COUNT_DISTINCT({argument})",
            f"PERCENTILE({argument}, 0.5)",
            f"SUM(MAX({argument}))" if choose.random() < 0.3 else "MAX(v)",
            "LAG(n)",
        ]
    )


def grouped(choose: Choose) -> str:
    keys = choose.sample(["a", "b", "n", "dt"], choose.randint(0, 2))
    selected = [*keys, aggregate(choose)] + (["v"] if choose.random() < 0.15 else [])
    by = choose.choice(["{}", "{}", "{}", "ROLLUP ({})", "CUBE ({})", "GROUPING SETS (({}), ())", "()", "1"])
    group = f" GROUP BY {by.format(', '.join(keys))}" if keys or choose.random() < 0.2 else ""
    having = (
        f" HAVING {choose.choice(['COUNT(*) > 1', 'n > 1', aggregate(choose), 'a'])}" if choose.random() < 0.3 else ""
    )
    more = choose.choice(["", "", f", GROUPING({choose.choice(['a', 'n', 'a, b'])})", ", GROUPING_ID(a)"])
    return f"SELECT {', '.join(selected)}{more} FROM {choose.choice(['s', 's', 'g'])}{group}{having}"


def _interval(choose: Choose) -> str:
    return choose.choice(
        ["INTERVAL '10' SECOND", "INTERVAL '1' MINUTE", "INTERVAL '5' MINUTE", "INTERVAL '1' DAY", "INTERVAL '1' MONTH",
         "INTERVAL '0' SECOND", "INTERVAL '-1' SECOND", "10", "'10'", "n"]
    )  # fmt: skip


def window_table(choose: Choose) -> str:
    function, sizes = choose.choice([("TUMBLE", 1), ("HOP", 2), ("CUMULATE", 2), ("SESSION", 1), ("SLIDE", 1)])
    table = choose.choice(["TABLE s", "TABLE s", "TABLE g", "TABLE t", "s", "(SELECT * FROM s)", "TABLE nothing"])
    if function == "SESSION" and choose.random() < 0.5:
        table += f" PARTITION BY {choose.choice(['a', '(a, b)', 'MISSING'])}"
    given = [_interval(choose) for _ in range(choose.choice([sizes] * 5 + [sizes + 1, sizes - 1]))]
    if choose.random() < 0.6:
        given = ["INTERVAL '1' MINUTE", "INTERVAL '5' MINUTE"][-sizes:]
    return f"TABLE({function}({', '.join([table, f'DESCRIPTOR({choose.choice(TIMES)})', *given])}))"


def windowed(choose: Choose) -> str:
    table = window_table(choose)
    keys = choose.choice(["window_start, window_end", "window_start, window_end", "window_start, window_end, a",
                          "window_start", "window_end, a", "window_time", "a"])  # fmt: skip
    forms = [
        f"SELECT * FROM {table}",
        f"SELECT {keys}, {aggregate(choose)} FROM {table} GROUP BY {keys}",
        f"SELECT {keys}, COUNT(*) FROM {table} GROUP BY GROUPING SETS (({keys}), (window_start, window_end))",
        f"SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {keys} ORDER BY {choose.choice(['n', 'ts DESC'])}) "
        f"AS rn FROM {table}) WHERE rn {choose.choice(['<= 3', '= 1', '> 2', '< 0', '<= n'])}",
        f"SELECT l.a FROM (SELECT * FROM {table}) AS l {choose.choice(['JOIN', 'LEFT JOIN', 'FULL JOIN'])} "
        f"(SELECT * FROM {table}) AS r ON l.a = r.a AND l.window_start = r.window_start"
        f"{choose.choice([' AND l.window_end = r.window_end', '', ' AND l.n > r.n'])}",
        f"SELECT {choose.choice(['TUMBLE_START', 'TUMBLE_ROWTIME', 'HOP_START'])}({choose.choice(TIMES)}, "
        f"{_interval(choose)}), COUNT(*) FROM s GROUP BY "
        f"{choose.choice(['TUMBLE', 'TUMBLE', 'HOP', 'SESSION'])}({choose.choice(TIMES)}, {_interval(choose)})",
    ]
    return choose.choice(forms)


def over(choose: Choose) -> str:
    call = choose.choice([aggregate(choose), "ROW_NUMBER()", "RANK()", "LAG(n, 1)", "NTILE(4)", "UPPER(a)", "SUM(v)"])
    column = choose.choice(["ts", "ts", "ts", "p", "n", "ts DESC", "tl", "ts, n", ""])
    order = f"ORDER BY {column}" if column else ""
    frame = choose.choice(
        ["", "", "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", "ROWS UNBOUNDED PRECEDING",
         "RANGE BETWEEN INTERVAL '1' MINUTE PRECEDING AND CURRENT ROW", "ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING",
         "RANGE BETWEEN 1 PRECEDING AND CURRENT ROW", "ROWS BETWEEN n PRECEDING AND CURRENT ROW",
         "ROWS BETWEEN 1 PRECEDING AND 2 PRECEDING", "ROWS -1 PRECEDING"]
    )  # fmt: skip
    partition = choose.choice(["PARTITION BY a", "PARTITION BY a, n", "", "PARTITION BY MISSING", "PARTITION BY arr"])
    call = f"{call} OVER ({partition} {order} {frame})"
    table = choose.choice(["s", "s", "s", "g"])
    return choose.choice(
        [
            f"SELECT a, {call} FROM {table}",
            f"SELECT * FROM (SELECT a, n, ROW_NUMBER() OVER ({partition} {order}) AS rn FROM {table}) "
            f"WHERE rn {choose.choice(['<= 3', '= 1', '= 2', '> 1', 'BETWEEN 2 AND 3', '< n'])}",
            f"SELECT a FROM {table} WHERE {call} > 1",
        ]
    )


def joined(choose: Choose) -> str:
    kind = choose.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "NATURAL JOIN"])
    condition = choose.choice(
        ["s.a = t.a", "s.n = t.k", "s.n = t.a", "s.n > t.k",
         "s.a = t.a AND s.ts BETWEEN t.ts - INTERVAL '1' HOUR AND t.ts", "s.ts = t.ts", "TRUE", "s.n", "s.arr = t.a",
         "s.a = x.a", "a = a", "s.r = t.k", "s.bo = t.a", "s.dt = t.ts"]
    )  # fmt: skip
    time = choose.choice(["s.ts", "s.ts", "s.p", "s.tl", "t.ts", "s.n", "CURRENT_TIMESTAMP"])
    right = choose.choice(["keyed", "keyed", "t", "g", "files", "(SELECT * FROM keyed)"])
    on = choose.choice(
        ["s.n = x.k", "s.n = x.k", "s.a = x.a", "s.n > x.k", "TRUE", "s.n = x.k AND s.a = x.a", "s.n = 1"]
    )
    return choose.choice(
        [
            f"SELECT s.a FROM s {kind} t ON {condition}" if "CROSS" not in kind else "SELECT s.a FROM s CROSS JOIN t",
            f"SELECT s.a FROM s {kind} t USING ({choose.choice(['a', 'k', 'a, ts'])})",
            f"SELECT s.a FROM s {kind} {right} FOR SYSTEM_TIME AS OF {time} AS x ON {on}",
            f"SELECT s.a FROM s, LATERAL (SELECT * FROM t WHERE "
            f"{choose.choice(['t.a = s.a', 't.k > s.n', 't.a = q.a'])}) AS x",
            f"SELECT s.a, u1 FROM s {choose.choice(['CROSS JOIN', ','])} "
            f"UNNEST({choose.choice(['arr', 'm', 'a', 'r', 's.arr'])}) AS u "
            f"(u1{choose.choice(['', ', u2', ', u2, u3'])})",
        ]
    )


def set_operation(choose: Choose) -> str:
    operator = choose.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL"])
    left = ", ".join(choose.sample(COLUMNS, 2))
    right = choose.choice([left, left, ", ".join(choose.sample(COLUMNS, 2)), "a", "NULL, 1", "*"])
    tail = choose.choice(["", "", " ORDER BY 1", " LIMIT 3", " ORDER BY MISSING"])
    return f"SELECT {left} FROM s {operator} SELECT {right} FROM s{tail}"


def subquery(choose: Choose) -> str:
    inner = choose.choice(
        ["SELECT k FROM t", "SELECT a FROM t", "SELECT * FROM t", "SELECT MAX(k) FROM t",
         "SELECT k FROM t WHERE t.a = s.a", "SELECT COUNT(*) FROM t WHERE t.k < s.n", "SELECT k FROM t LIMIT 1",
         "SELECT k, a FROM t", "SELECT 1"]
    )  # fmt: skip
    condition = choose.choice(
        [f"n IN ({inner})", f"n NOT IN ({inner})", f"EXISTS ({inner})", f"NOT EXISTS ({inner})", f"n > ({inner})",
         f"n = ANY ({inner})", f"n > ALL ({inner})", f"(n, a) IN ({inner})", f"a IN ({inner})"]
    )  # fmt: skip
    return choose.choice([f"SELECT a FROM s WHERE {condition}", f"SELECT a, ({inner}) FROM s"])


def ordered(choose: Choose) -> str:
    order = choose.choice(
        ["ts", "ts DESC", "n", "p", "tl", "1", "3", "MISSING", "a || b", "arr", "m", "COUNT(*)", "ts, n"]
    )
    limit = choose.choice(
        ["", "", " LIMIT 3", " LIMIT 3 OFFSET 2", " FETCH FIRST 2 ROWS ONLY", " OFFSET 2", " LIMIT n"]
    )
    what = choose.choice(["a, ts", "*", "DISTINCT a", "a AS x, n", "DISTINCT n, a"])
    return f"SELECT {what} FROM {choose.choice(['s', 's', 'g'])} ORDER BY {order}{limit}"


def plain(choose: Choose) -> str:
    where = f" WHERE {scalar(choose)}" if choose.random() < 0.3 else ""
    return f"SELECT {scalar(choose)} FROM s{where}"


def insert(choose: Choose) -> str:
    table, columns = choose.choice([("plain", "a, n, v"), ("files", "a, n")])
    given = choose.choice(["", "", f" ({columns})", " (a)", " (a, MISSING)", " (n, a)"])
    values = choose.choice(
        [columns, columns, "a", "n, a, v", "a, d, v", "a, e", "*", "a, CAST(n AS STRING), v", "b, n, n"]
    )
    source = choose.choice(["s", "s", "s", "(SELECT a, b, n, v, d, e FROM s ORDER BY ts)"])
    query = choose.choice(
        [f"SELECT {values} FROM {source}"] * 3
        + [
            "SELECT a, COUNT(*) FROM s GROUP BY a",
            "SELECT a, CAST(c AS INT), c FROM g",
            "VALUES ('a', 1, 2)",
            "VALUES ('a', 1)",
        ]
    )
    how = choose.choice(["INTO", "INTO", "INTO", "OVERWRITE"])
    partition = choose.choice(["", "", "", " PARTITION (a = 'x')"])
    return f"INSERT {how} {table}{partition}{given} {query}"


def matched(choose: Choose) -> str:
    pattern = choose.choice(
        ["A B", "A B+ C", "A B* C", "A B?", "A{2,3} B", "A | B", "PERMUTE(A, B)", "A B+", "A B*? C", "^ A"]
    )
    order = choose.choice(["ts", "ts", "ts", "p", "n", "ts DESC"])
    measures = choose.choice(["A.n AS x", "LAST(B.n) AS x", "MATCH_ROWTIME() AS y", "n AS x",
                              "A.arr[1] AS x", "SUM(A.n) AS x", "CLASSIFIER() AS x",
                              "FINAL LAST(A.n) AS x"])  # fmt: skip
    define = choose.choice(["A AS A.n > 1", "B AS B.n > PREV(B.n)", "B AS B.n > LAST(A.n, 1)", "A AS A.n",
                            "B AS SUM(B.n) > 3", "Z AS TRUE", "A AS A.n > (SELECT MAX(k) FROM t)",
                            "B AS B.n > NEXT(B.n)"])  # fmt: skip
    rows = choose.choice(["ONE ROW PER MATCH", "ONE ROW PER MATCH", "", "ALL ROWS PER MATCH"])
    after = choose.choice(["AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW", "",
                           "AFTER MATCH SKIP TO LAST B", "AFTER MATCH SKIP TO FIRST Z"])  # fmt: skip
    within = choose.choice(["", "", " WITHIN INTERVAL '1' HOUR", " WITHIN INTERVAL '1' MONTH"])
    partition = choose.choice(["PARTITION BY a", "PARTITION BY a, b", "", "PARTITION BY MISSING"])
    return (
        f"SELECT * FROM {choose.choice(['s', 's', 's', 'g'])} MATCH_RECOGNIZE ({partition} ORDER BY {order} "
        f"MEASURES {measures} {rows} {after} PATTERN ({pattern}){within} DEFINE {define})"
    )


FORMS: tuple[Callable[[Choose], str], ...] = (
    plain, plain, grouped, windowed, over, joined, set_operation, subquery, ordered, insert, matched,
)  # fmt: skip


def statements(seed: int = SEED, count: int = COUNT) -> list[str]:
    """Return distinct statements, of all forms in turn."""
    choose = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(FORMS[len(found) % len(FORMS)](choose).split())] = None
    return list(found)
