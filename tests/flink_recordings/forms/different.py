"""Forms of queries that firesteel takes and Flink 2.3 does not, and the other way round, each with the reason."""

_OVER = "SELECT SUM(n) OVER (PARTITION BY a ORDER BY ts"

MORE = {
    "`*` is all columns, two of one name among them.": ["SELECT * FROM (SELECT a, b AS a FROM s) AS x"],
    "A column comes before the field of a row of the same name.": [
        "SELECT a, x FROM s, UNNEST(arr) AS t(x)",
        "SELECT a, x, y FROM s CROSS JOIN UNNEST(m) AS t(x, y)",
        "SELECT a, x FROM s LEFT JOIN UNNEST(arr) AS t(x) ON TRUE",
        "SELECT a, x FROM s LEFT JOIN UNNEST(arr) AS t(x) ON x > 1",
        "SELECT a, x, o FROM s, UNNEST(arr) WITH ORDINALITY AS t(x, o)",
    ],
    "An interval may have more than two digits.": [
        "SELECT INTERVAL '100' DAY FROM s",
        "SELECT INTERVAL '100' MINUTE FROM s",
        "SELECT INTERVAL '100' SECOND FROM s",
        "SELECT INTERVAL '100' YEAR FROM s",
        "SELECT INTERVAL '100' MONTH FROM s",
        "SELECT INTERVAL '100' HOUR FROM s",
        "SELECT INTERVAL '100' WEEK FROM s",
        "SELECT ts + INTERVAL '365' DAY FROM s",
        "SELECT ts + INTERVAL '3600' SECOND FROM s",
        "SELECT * FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '100' MINUTE))",
        "SELECT * FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(ts), INTERVAL '3600' SECOND))",
        "SELECT COUNT(*) FROM s GROUP BY TUMBLE(ts, INTERVAL '3600' SECOND)",
        f"{_OVER} RANGE BETWEEN INTERVAL '100' MINUTE PRECEDING AND CURRENT ROW) FROM s",
        "SELECT s1.a FROM s s1, s s2 WHERE s1.a = s2.a AND s1.ts BETWEEN s2.ts - INTERVAL '300' SECOND AND s2.ts",
    ],
    "A frame of the current row alone.": [
        f"{_OVER} ROWS CURRENT ROW) FROM s",
        f"{_OVER} ROWS BETWEEN CURRENT ROW AND CURRENT ROW) FROM s",
        f"{_OVER} RANGE CURRENT ROW) FROM s",
        f"{_OVER} RANGE BETWEEN CURRENT ROW AND CURRENT ROW) FROM s",
    ],
    "Rows that change may be ordered by several columns, as in BATCH mode.": [
        "SELECT SUM(n) OVER (PARTITION BY a ORDER BY n, d) FROM s",
    ],
    "Several windows in one SELECT.": [
        f"{_OVER}), SUM(n) OVER (PARTITION BY b ORDER BY ts) FROM s",
        f"{_OVER}), SUM(n) OVER (PARTITION BY a ORDER BY ts ROWS 2 PRECEDING) FROM s",
    ],
    "JSON is a text outside of JSON_OBJECT and JSON_ARRAY, too.": [
        "SELECT JSON(a) FROM s",
        "SELECT UPPER(JSON(a)) FROM s",
    ],
    "The path is a constant.": ["SELECT JSON_EXISTS(a, CAST('$.x' AS STRING)) FROM s"],
    "Words and signs of other dialects, of which each has one meaning.": [
        "SELECT s1.a FROM s s1 LEFT SEMI JOIN s s2 ON s1.a = s2.a",
        "SELECT n != 1 FROM s",
        "SELECT 'a' 'b' FROM s",
        "SELECT a FROM s LIMIT 1, 2",
        "SELECT CAST(n AS REAL) FROM s",
        "SELECT CAST(n AS INT NOT NULL) FROM s",
    ],
}

MISSING = {
    "A number is multiplied with an interval: n * INTERVAL '1' DAY.": [
        "SELECT INTERVAL n DAY FROM s",
        "SELECT INTERVAL (n) DAY FROM s",
        "SELECT INTERVAL bi SECOND FROM s",
        "SELECT INTERVAL n YEAR FROM s",
        "SELECT ts + INTERVAL n DAY FROM s",
        "SELECT CAST(n AS INTERVAL DAY) FROM s",
        "SELECT CAST(n AS INTERVAL YEAR) FROM s",
        "SELECT CAST(n AS INTERVAL HOUR) FROM s",
        "SELECT CAST(bi AS INTERVAL SECOND) FROM s",
    ],
    "Differences of times of day, of nanoseconds and of centuries.": [
        "SELECT TIMESTAMPDIFF(NANOSECOND, ts, ts) FROM s",
        "SELECT TIMESTAMPDIFF(NANOSECOND, dt, dt) FROM s",
        "SELECT TIMESTAMPDIFF(NANOSECOND, tl, tl) FROM s",
        "SELECT TIMESTAMPDIFF(DAY, tm, tm) FROM s",
        "SELECT TIMESTAMPDIFF(HOUR, tm, tm) FROM s",
        "SELECT TIMESTAMPDIFF(SECOND, tm, tm) FROM s",
        "SELECT TIMESTAMPDIFF(MILLISECOND, tm, tm) FROM s",
        "SELECT TIMESTAMPDIFF(MONTH, tm, tm) FROM s",
        "SELECT TIMESTAMPDIFF(CENTURY, ts, ts) FROM s",
    ],
    "Arrays and rows have no order.": ["SELECT arr > arr FROM s", "SELECT r > r FROM s"],
    "Functions without brackets.": ["SELECT PI FROM s", "SELECT PI + 1 FROM s"],
    "JSON is a text.": ["SELECT JSON_VALUE(n, '$.x') FROM s", "SELECT JSON_QUERY(n, '$.x') FROM s"],
    "A NULL needs a type.": ["SELECT MAP['a', NULL] FROM s"],
    "Flink plans it as if IGNORE NULLS were not there.": [
        "SELECT LAG(n) IGNORE NULLS OVER (PARTITION BY a ORDER BY ts) FROM s",
    ],
    "Frames of rows go by numbers of rows.": [
        f"{_OVER} ROWS BETWEEN INTERVAL '1' DAY PRECEDING AND CURRENT ROW) FROM s",
    ],
    "A number of rows is whole.": ["SELECT a FROM s LIMIT 1.5"],
    "There is nothing to join.": ["SELECT CONCAT_WS(',') FROM s"],
    "Types that no value fits.": ["SELECT CAST(n AS DECIMAL(39, 1)) FROM s", "SELECT CAST(ts AS TIMESTAMP(10)) FROM s"],
    "Escapes of JDBC.": ["SELECT {d '2020-01-01'} FROM s"],
    "UNPIVOT is written as UNION ALL.": ["SELECT * FROM s UNPIVOT (v FOR k IN (n))"],
}
