"""Random statements that firesteel takes and Flink does not, and the other way round, by reason."""

DIFFERENT: dict[str, list[tuple[str, str]]] = {
    "A Top-N whose end is a column is not found if its order has to be that of OVER.": [
        (
            "streaming",
            "SELECT * FROM (SELECT a, n, ROW_NUMBER() OVER (PARTITION BY a, n ORDER BY ts, n) AS rn "
            "FROM s) WHERE rn < n",
        ),
        (
            "streaming",
            "SELECT * FROM (SELECT a, n, ROW_NUMBER() OVER (PARTITION BY arr ORDER BY ts DESC) AS "
            "rn FROM s) WHERE rn < n",
        ),
        (
            "streaming",
            "SELECT * FROM (SELECT a, n, ROW_NUMBER() OVER (PARTITION BY arr ORDER BY ts, n) AS rn "
            "FROM s) WHERE rn < n",
        ),
    ],
    "The anchors of a pattern are refused; Flink ignores them.": [
        (
            "streaming",
            "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY a, b ORDER BY p MEASURES n AS x ONE ROW "
            "PER MATCH PATTERN (^ A) DEFINE Z AS TRUE)",
        ),
        (
            "streaming",
            "SELECT * FROM s MATCH_RECOGNIZE ( ORDER BY ts MEASURES SUM(A.n) AS x AFTER MATCH SKIP "
            "PAST LAST ROW PATTERN (^ A) DEFINE B AS B.n > LAST(A.n, 1))",
        ),
        (
            "batch",
            "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY a, b ORDER BY p MEASURES n AS x ONE ROW "
            "PER MATCH PATTERN (^ A) DEFINE Z AS TRUE)",
        ),
        (
            "batch",
            "SELECT * FROM s MATCH_RECOGNIZE ( ORDER BY ts MEASURES SUM(A.n) AS x AFTER MATCH SKIP "
            "PAST LAST ROW PATTERN (^ A) DEFINE B AS B.n > LAST(A.n, 1))",
        ),
    ],
    "A variable that DEFINE has and PATTERN has not is a mistake; Flink ignores it.": [
        (
            "streaming",
            "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY a, b ORDER BY ts MEASURES n AS x ONE ROW "
            "PER MATCH AFTER MATCH SKIP TO LAST B PATTERN (A{2,3} B) WITHIN INTERVAL '1' HOUR DEFINE Z AS TRUE)",
        ),
        (
            "batch",
            "SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY a, b ORDER BY ts MEASURES n AS x ONE ROW "
            "PER MATCH AFTER MATCH SKIP TO LAST B PATTERN (A{2,3} B) WITHIN INTERVAL '1' HOUR DEFINE Z AS TRUE)",
        ),
    ],
    "A rank without an upper bound is computed for all rows.": [
        (
            "streaming",
            "SELECT * FROM (SELECT a, n, ROW_NUMBER() OVER (PARTITION BY a ORDER BY ts) AS rn FROM s) WHERE rn > 1",
        ),
    ],
    "A limit may have an OFFSET alone.": [
        ("batch", "SELECT a AS x, n FROM s ORDER BY 1 OFFSET 2"),
        ("batch", "SELECT a, ts FROM s ORDER BY ts OFFSET 2"),
    ],
    "NTILE takes no frame; Flink ignores it.": [
        ("batch", "SELECT a, NTILE(4) OVER ( ORDER BY p ROWS UNBOUNDED PRECEDING) FROM s"),
    ],
    "SESSION windows have a Top-N in BATCH mode, too.": [
        (
            "batch",
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
            "ORDER BY n) AS rn FROM TABLE(SESSION(TABLE g, DESCRIPTOR(ts), INTERVAL '5' MINUTE))) WHERE rn <= n",
        ),
        (
            "batch",
            "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
            "ORDER BY ts DESC) AS rn FROM TABLE(SESSION(TABLE g, DESCRIPTOR(ts), INTERVAL '5' MINUTE))) WHERE rn > 2",
        ),
    ],
    "Maps are compared, though they have no order.": [
        ("batch", "SELECT ts, m FROM s UNION SELECT ts, m FROM s LIMIT 3"),
    ],
}
