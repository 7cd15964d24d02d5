"""The recorded queries over the tables of `inputs.py`, by the chapter of Flink's documentation that describes them.

Results don't depend on the order in which splits are read: ties are broken by unique columns, and whatever depends on
the order of arrival, or may be late, reads one file.
"""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tests.flink_recordings.large.inputs import nexmark

UTC, SHANGHAI, NEW_YORK = "UTC", "Asia/Shanghai", "America/New_York"
ZONES = (UTC, SHANGHAI, NEW_YORK)
MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "2 s",
    "table.exec.mini-batch.size": "500",
}
EACH_RECORD = {"pipeline.auto-watermark-interval": "0 ms"}
"""A watermark after each record, so that what is late does not depend on time.

The row before an update has the old time, so it is late for most windows. The parallelism is 1: a second subtask of the
source would hold back the watermark until it finds that there is no second file.
"""

BOTH, STREAMING = ("streaming", "batch"), ("streaming",)


@dataclass(frozen=True)
class Query:
    """A query, the modes and time zones in which it runs, and its options."""

    name: str
    sql: str
    modes: tuple[str, ...] = BOTH
    zones: tuple[str, ...] = (UTC,)
    options: Mapping[str, str] = field(default_factory=dict)
    parallelism: int = 2

    @property
    def is_ordered(self) -> bool:
        return self.modes == ("batch",) and "ORDER BY" in self.sql.rsplit(")", 1)[-1]

    def key(self, mode: str, zone: str) -> str:
        return f"{self.name} {mode} {zone}"

    @property
    def cases(self) -> Iterator[tuple[str, str]]:
        """The modes and zones in which the query runs; BATCH mode has one zone."""
        for mode in self.modes:
            for zone in self.zones if mode == "streaming" else self.zones[:1]:
                yield mode, zone


SELECTED = {
    "select_where": "SELECT id, price * qty, amount / 4 FROM {t} WHERE price > 700 AND channel <> 'app' OR qty < 0",
    "select_case": (
        "SELECT id, CASE WHEN price > 900 THEN 'high' WHEN price > 500 THEN channel END, "
        "CASE channel WHEN 'web' THEN 1 WHEN 'app' THEN 2 ELSE -1 END, IF(flag, 'y', 'n'), NULLIF(qty, 3), "
        "COALESCE(channel, url, 'x') FROM {t} WHERE MOD(id, 5) = 0"
    ),
    "select_null": (
        "SELECT id, flag IS NULL, flag IS NOT TRUE, flag IS UNKNOWN, channel IS DISTINCT FROM 'web', "
        "NOT flag OR price > 500, bidder IN (1, 2, 3, CAST(NULL AS INT)) FROM {t} WHERE MOD(id, 3) = 0"
    ),
    "select_numbers": (
        "SELECT id, MOD(qty, 3), ABS(qty), POWER(qty, 2), ROUND(price, 1), FLOOR(amount), CEIL(price), "
        "SIGN(amount), TRUNCATE(price, 1), price / 3, price * 1.1, qty / 2, -price, amount + qty, id + qty, "
        "GREATEST(qty, 4), LEAST(amount, 3.5), BIN(id), HEX(id), CAST(price AS INT), CAST(amount AS SMALLINT), "
        "CAST(price AS DECIMAL(6, 1)), LOG2(4), SQRT(16) FROM {t} WHERE MOD(id, 7) = 1"
    ),
    "select_strings": (
        "SELECT id, UPPER(channel), CHAR_LENGTH(url), SUBSTRING(url, 9, 4), SUBSTR(url, -5), TRIM(channel), "
        "REPLACE(url, 'shop', 'x'), POSITION('?' IN url), SPLIT_INDEX(url, '/', 3), LPAD(channel, 6, '*'), "
        "RPAD(channel, 3, '-'), CONCAT(channel, '|', url), CONCAT_WS('-', channel, CAST(NULL AS STRING), 'a'), channel || 'x', "
        "REVERSE(channel), INITCAP(channel), REGEXP_EXTRACT(url, 'ref=([0-9]+)', 1), REGEXP_REPLACE(url, '[0-9]', '#'), "
        "url LIKE '%/a/%', channel SIMILAR TO '(web|app)', OVERLAY(url PLACING 'XX' FROM 2 FOR 3), ASCII(channel), "
        "LEFT(channel, 2), RIGHT(url, 3), REPEAT(channel, 2), LOCATE('t', url), INSTR(url, 'shop'), "
        "LTRIM(channel), RTRIM(channel), TRANSLATE(channel, 'abc', 'xy') FROM {t} WHERE MOD(id, 7) = 2"
    ),
    "select_urls": (
        "SELECT id, PARSE_URL(url, 'HOST'), PARSE_URL(url, 'QUERY', 'ref'), MD5(url), SHA256(channel), "
        "TO_BASE64(channel), FROM_BASE64(TO_BASE64(channel)), URL_ENCODE(url), URL_DECODE(URL_ENCODE(url)), "
        "STR_TO_MAP(PARSE_URL(url, 'QUERY'), '&', '='), SPLIT(url, '/') FROM {t} WHERE MOD(id, 7) = 3"
    ),
    "select_dates": (
        "SELECT id, EXTRACT(YEAR FROM ts), EXTRACT(DOW FROM ts), EXTRACT(WEEK FROM d), QUARTER(d), DAYOFYEAR(d), "
        "FLOOR(ts TO HOUR), CEIL(ts TO DAY), TIMESTAMPADD(MONTH, 1, d), TIMESTAMPDIFF(DAY, d, ts), "
        "ts + INTERVAL '1 02:03' DAY TO MINUTE, d - INTERVAL '1' MONTH, DATE_FORMAT(ts, 'yyyy/MM/dd HH'), "
        "CAST(ts AS DATE), CAST(ts AS TIME), TO_TIMESTAMP(CAST(ts AS STRING)), TO_DATE('2024-02-29'), "
        "CAST(ts AS STRING), CAST(d AS TIMESTAMP(3)), d > DATE '2024-03-10', FLOOR(d TO MONTH) "
        "FROM {t} WHERE MOD(id, 7) = 4"
    ),
    "select_json": (
        "SELECT id, JSON_OBJECT('a' VALUE channel, 'b' VALUE qty NULL ON NULL), JSON_ARRAY(id, channel), "
        "JSON_VALUE(CONCAT('{{\"a\": ', CAST(qty AS STRING), '}}'), '$.a' RETURNING INTEGER), "
        "JSON_EXISTS('{{\"a\": 1}}', '$.b'), JSON_QUERY('{{\"a\": [1, 2]}}', '$.a'), url IS JSON "
        "FROM {t} WHERE MOD(id, 7) = 5"
    ),
    "select_collections": (
        "SELECT id, ARRAY[qty, 1, NULL], MAP['a', price], ROW(id, channel), CARDINALITY(ARRAY[1, 2]), "
        "ARRAY_CONTAINS(ARRAY[channel, url], 'web'), ARRAY_DISTINCT(ARRAY[qty, 1, 1]), ARRAY_SORT(ARRAY[3, qty]), "
        "ARRAY_CONCAT(ARRAY[1], ARRAY[2]), ARRAY[qty, 7][1], MAP['k', qty]['k'], MAP_KEYS(MAP['k', 1]), "
        "ARRAY_MAX(ARRAY[qty, 2]), ARRAY_POSITION(ARRAY[1, qty], 1), ARRAY_REVERSE(ARRAY[qty, 2]), "
        "ARRAY_SLICE(ARRAY[1, 2, 3], 1, 2), ELEMENT(ARRAY[id]) FROM {t} WHERE MOD(id, 7) = 6"
    ),
    "distinct": "SELECT DISTINCT channel, flag, qty FROM {t}",
    "count": "SELECT COUNT(*), COUNT(bidder), COUNT(DISTINCT bidder), SUM(price), AVG(price), MIN(url), MAX(ts) FROM {t}",
    "count_of_none": "SELECT COUNT(*), SUM(price), MAX(id), AVG(amount) FROM {t} WHERE id < 0",
    "group": (
        "SELECT channel, flag, COUNT(*), SUM(price), AVG(price), MIN(price), MAX(amount), SUM(amount), SUM(qty), "
        "AVG(qty), COUNT(DISTINCT auction), STDDEV_POP(amount), VAR_SAMP(amount) FROM {t} GROUP BY channel, flag"
    ),
    "group_expression": "SELECT MOD(auction, 50), qty > 3, MIN(d), MAX(url) FROM {t} GROUP BY MOD(auction, 50), qty > 3",
    "group_having": "SELECT auction, COUNT(*) AS c FROM {t} GROUP BY auction HAVING COUNT(*) > 4 AND SUM(qty) > 40",
    "group_having_less": "SELECT auction, COUNT(*) AS c FROM {t} GROUP BY auction HAVING COUNT(*) < 7",
    "group_filter": (
        "SELECT auction, COUNT(*) FILTER (WHERE flag), SUM(price) FILTER (WHERE channel = 'web'), "
        "COUNT(DISTINCT bidder) FILTER (WHERE qty > 5), COUNT(DISTINCT channel) FROM {t} GROUP BY auction"
    ),
    "group_distinct": (
        "SELECT channel, COUNT(DISTINCT bidder), COUNT(DISTINCT auction), SUM(DISTINCT qty), AVG(DISTINCT qty), "
        "COUNT(*) FROM {t} GROUP BY channel"
    ),
    "grouping_sets": (
        "SELECT channel, flag, COUNT(*), SUM(price), GROUPING(channel), GROUPING_ID(channel, flag) "
        "FROM {t} GROUP BY GROUPING SETS ((channel, flag), (channel), ())"
    ),
    "rollup": "SELECT channel, flag, MAX(channel), COUNT(*), SUM(qty) FROM {t} GROUP BY ROLLUP (channel, flag)",
    "cube": "SELECT channel, flag, qty, COUNT(*), MIN(price) FROM {t} GROUP BY CUBE (channel, flag, qty)",
    "group_twice": (
        "SELECT c, COUNT(*), MIN(s), MAX(a) FROM (SELECT auction AS a, COUNT(*) AS c, SUM(price) AS s "
        "FROM {t} GROUP BY auction) GROUP BY c"
    ),
    "group_collect": "SELECT MOD(auction, 300), COLLECT(CAST(qty AS STRING)) FROM {t} WHERE qty > 10 GROUP BY MOD(auction, 300)",
    "union_all": "SELECT auction FROM {t} WHERE qty > 17 UNION ALL SELECT bidder FROM {t} WHERE qty < -3",
    "union": "SELECT auction, flag FROM {t} WHERE qty > 17 UNION SELECT bidder, flag FROM {t} WHERE qty < -3",
    "intersect": "SELECT auction FROM {t} WHERE qty > 15 INTERSECT SELECT bidder FROM {t} WHERE qty < 3",
    "intersect_all": "SELECT auction FROM {t} WHERE qty > 15 INTERSECT ALL SELECT bidder FROM {t} WHERE qty < 3",
    "except": "SELECT auction FROM {t} WHERE qty > 10 EXCEPT SELECT bidder FROM {t} WHERE qty < 3",
    "except_all": "SELECT auction FROM {t} WHERE qty > 10 EXCEPT ALL SELECT bidder FROM {t} WHERE qty < 3",
    "in": "SELECT id, price FROM {t} WHERE auction IN (SELECT auction FROM auctions WHERE category = 'art')",
    "not_in": "SELECT id FROM {t} WHERE auction NOT IN (SELECT auction FROM auctions WHERE seller < 90)",
    "exists": (
        "SELECT id FROM {t} AS b WHERE EXISTS (SELECT 1 FROM auctions AS a "
        "WHERE a.auction = b.auction AND a.reserve > b.price)"
    ),
    "not_exists": (
        "SELECT id FROM {t} AS b WHERE NOT EXISTS (SELECT 1 FROM auctions AS a "
        "WHERE a.auction = b.auction AND a.category = 'toys')"
    ),
    "scalar_subquery": "SELECT id, price FROM {t} WHERE price > (SELECT AVG(reserve) * 3.4 FROM auctions)",
    "scalar_subquery_of_few": (
        "SELECT id, price FROM {t} WHERE price > (SELECT AVG(reserve) * 3.4 FROM auctions WHERE auction < 20)"
    ),
    "correlated_count": (
        "SELECT a.auction, (SELECT COUNT(*) FROM {t} AS b WHERE b.auction = a.auction AND b.qty > 12) "
        "FROM auctions AS a"
    ),
    "correlated_max": (
        "SELECT a.auction, a.category FROM auctions AS a WHERE a.reserve < "
        "(SELECT MAX(b.price) FROM {t} AS b WHERE b.auction = a.auction)"
    ),
    "top_n": (
        "SELECT channel, id, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY channel ORDER BY price DESC, id) "
        "AS n FROM {t}) WHERE n <= 10"
    ),
    "top_n_ranked": (
        "SELECT n, auction, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY amount, id) "
        "AS n FROM {t}) WHERE n <= 3"
    ),
    "top_n_offset": (
        "SELECT n, qty, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY qty ORDER BY url DESC, id DESC) "
        "AS n FROM {t}) WHERE n BETWEEN 3 AND 6"
    ),
    "top_n_of_groups": (
        "SELECT channel, auction, c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY channel ORDER BY c DESC, auction) "
        "AS n FROM (SELECT channel, auction, COUNT(*) AS c FROM {t} GROUP BY channel, auction)) WHERE n <= 5"
    ),
    "top_n_without_partition": (
        "SELECT id, price FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY price DESC, id) AS n FROM {t}) WHERE n <= 20"
    ),
    "rank": (
        "SELECT auction, id, r FROM (SELECT *, RANK() OVER (PARTITION BY auction ORDER BY qty DESC) AS r FROM {t}) "
        "WHERE r <= 2"
    ),
    "dense_rank": (
        "SELECT auction, id FROM (SELECT *, DENSE_RANK() OVER (PARTITION BY auction ORDER BY qty) AS r FROM {t}) "
        "WHERE r <= 2"
    ),
    "order_limit": "SELECT id, price FROM {t} ORDER BY price DESC, id LIMIT 25",
    "order_offset": "SELECT channel, qty, id FROM {t} ORDER BY channel, qty DESC, id OFFSET 20 ROWS FETCH NEXT 30 ROWS ONLY",
    "deduplicate_first": (
        "SELECT id, auction, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY ts) AS n FROM {t}) "
        "WHERE n = 1"
    ),
    "deduplicate_last": (
        "SELECT id, bidder, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder ORDER BY ts DESC) AS n FROM {t}) "
        "WHERE n = 1"
    ),
    "join_inner": "SELECT b.id, a.category, b.price FROM {t} AS b JOIN auctions AS a ON b.auction = a.auction",
    "join_condition": (
        "SELECT b.id, a.seller FROM {t} AS b JOIN auctions AS a ON b.auction = a.auction AND b.price > a.reserve * 4.5 "
        "WHERE a.category <> 'cars'"
    ),
    "join_left": (
        "SELECT b.id, a.category FROM {t} AS b LEFT JOIN auctions AS a ON b.auction = a.auction AND a.seller < 20"
    ),
    "join_right": (
        "SELECT b.id, a.auction FROM {t} AS b RIGHT JOIN auctions AS a ON b.auction = a.auction AND b.qty > 16"
    ),
    "join_full": (
        "SELECT b.id, b.auction, a.auction, a.category FROM (SELECT * FROM {t} WHERE qty > 14) AS b "
        "FULL JOIN (SELECT * FROM auctions WHERE seller < 50) AS a ON b.auction = a.auction"
    ),
    "join_of_groups": (
        "SELECT x.auction, x.c, y.s FROM (SELECT auction, COUNT(*) AS c FROM {t} GROUP BY auction) AS x JOIN "
        "(SELECT bidder, SUM(price) AS s FROM {t} GROUP BY bidder) AS y ON x.auction = y.bidder"
    ),
    "join_of_groups_left": (
        "SELECT x.auction, x.c, y.s FROM (SELECT auction, COUNT(*) AS c FROM {t} GROUP BY auction) AS x LEFT JOIN "
        "(SELECT bidder, SUM(qty) AS s FROM {t} GROUP BY bidder HAVING SUM(qty) < 700) AS y ON x.auction = y.bidder"
    ),
    "join_three": (
        "SELECT b.id, a.category, c.n FROM {t} AS b, auctions AS a, (SELECT seller, COUNT(*) AS n FROM auctions "
        "GROUP BY seller) AS c WHERE b.auction = a.auction AND c.seller = a.seller AND b.qty = 7"
    ),
    "join_using": "SELECT auction, category, id FROM {t} JOIN (SELECT auction, category FROM auctions) USING (auction)",
    "join_unequal": (
        "SELECT x.id, y.seller FROM (SELECT * FROM {t} WHERE qty = 19 AND flag) AS x JOIN "
        "(SELECT * FROM auctions WHERE auction < 12) AS y ON x.price < y.reserve"
    ),
    "unnest": (
        "SELECT b.id, t.tag FROM {t} AS b JOIN auctions AS a ON a.auction = b.auction "
        "CROSS JOIN UNNEST(a.tags) AS t (tag) WHERE b.qty > 15"
    ),
    "with": (
        "WITH x AS (SELECT channel, COUNT(*) AS c FROM {t} GROUP BY channel), y AS (SELECT MAX(c) AS m FROM x) "
        "SELECT x.channel, x.c, y.m FROM x, y"
    ),
    "over_count_by_column": "SELECT id, COUNT(*) OVER (PARTITION BY auction ORDER BY id) FROM {t} WHERE auction < 60",
    "over_whole_partition": "SELECT id, SUM(price) OVER (PARTITION BY auction) FROM {t} WHERE auction < 60",
    "lateral": (
        "SELECT c.channel, b.id, b.price FROM (SELECT DISTINCT channel FROM {t}) AS c, LATERAL (SELECT id, price FROM "
        "{t} AS t WHERE t.channel = c.channel ORDER BY price DESC, id LIMIT 3) AS b"
    ),
    "qualify": (
        "SELECT channel, id FROM {t} QUALIFY ROW_NUMBER() OVER (PARTITION BY channel ORDER BY price DESC, id) <= 3"
    ),
    "values_join": "SELECT id, v.n FROM {t} JOIN (VALUES (1, 'one'), (7, 'seven')) AS v (q, n) ON qty = q",
}
"""Queries over a table with the columns of `bids`: once over inserts, once over a changelog of the same columns."""

TIMED = {
    "tumble": (
        "SELECT window_start, window_end, COUNT(*), SUM(price), AVG(price), MAX(amount), COUNT(DISTINCT bidder) "
        "FROM TABLE(TUMBLE({w}, INTERVAL '10' MINUTES)) GROUP BY window_start, window_end"
    ),
    "tumble_keyed": (
        "SELECT window_start, channel, COUNT(*), MIN(price), SUM(qty), MIN(url), MAX(d) "
        "FROM TABLE(TUMBLE({w}, INTERVAL '1' HOUR)) GROUP BY window_start, window_end, channel"
    ),
    "tumble_offset": (
        "SELECT window_start, window_end, COUNT(*) FROM TABLE(TUMBLE({w}, INTERVAL '1' HOUR, INTERVAL '20' MINUTES)) "
        "GROUP BY window_start, window_end"
    ),
    "tumble_days": (
        "SELECT window_start, window_end, window_time, COUNT(*), SUM(qty) FROM TABLE(TUMBLE({w}, INTERVAL '1' DAY)) "
        "GROUP BY window_start, window_end, window_time"
    ),
    "hop": (
        "SELECT window_start, window_end, auction, COUNT(*), SUM(amount) FROM "
        "TABLE(HOP({w}, INTERVAL '30' MINUTES, INTERVAL '2' HOURS)) WHERE auction < 40 "
        "GROUP BY window_start, window_end, auction"
    ),
    "hop_days": (
        "SELECT window_start, window_end, COUNT(*) FROM TABLE(HOP({w}, INTERVAL '6' HOURS, INTERVAL '1' DAY)) "
        "GROUP BY window_start, window_end"
    ),
    "cumulate": (
        "SELECT window_start, window_end, flag, COUNT(*), MAX(price), COUNT(DISTINCT channel) FROM "
        "TABLE(CUMULATE({w}, INTERVAL '30' MINUTES, INTERVAL '6' HOURS)) GROUP BY window_start, window_end, flag"
    ),
    "cumulate_days": (
        "SELECT window_start, window_end, SUM(qty) FROM TABLE(CUMULATE({w}, INTERVAL '2' HOURS, INTERVAL '1' DAY)) "
        "GROUP BY window_start, window_end"
    ),
    "session": (
        "SELECT window_start, window_end, bidder, COUNT(*), SUM(price) FROM "
        "TABLE(SESSION({w_by_bidder}, INTERVAL '4' MINUTES)) GROUP BY window_start, window_end, bidder"
    ),
    "session_of_all": (
        "SELECT window_start, window_end, COUNT(*) FROM TABLE(SESSION({w}, INTERVAL '9' SECONDS)) "
        "GROUP BY window_start, window_end"
    ),
    "window_grouping_sets": (
        "SELECT window_start, channel, flag, COUNT(*), SUM(price) FROM TABLE(TUMBLE({w}, INTERVAL '2' HOURS)) "
        "GROUP BY window_start, window_end, GROUPING SETS ((channel, flag), (channel), ())"
    ),
    "window_cascade": (
        "SELECT window_start, window_end, SUM(c), MAX(c) FROM TABLE(TUMBLE(TABLE {windowed}, DESCRIPTOR(t), "
        "INTERVAL '3' HOURS)) GROUP BY window_start, window_end"
    ),
    "window_top_n": (
        "SELECT window_start, channel, n, id, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, "
        "window_end, channel ORDER BY price DESC, id) AS n FROM TABLE(TUMBLE({w}, INTERVAL '1' HOUR))) WHERE n <= 3"
    ),
    "window_top_n_of_groups": (
        "SELECT window_start, auction, c FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end "
        "ORDER BY c DESC, auction) AS n FROM (SELECT window_start, window_end, auction, COUNT(*) AS c FROM "
        "TABLE(TUMBLE({w}, INTERVAL '1' HOUR)) GROUP BY window_start, window_end, auction)) WHERE n <= 5"
    ),
    "window_deduplicate_first": (
        "SELECT window_start, auction, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, "
        "auction ORDER BY {time}) AS n FROM TABLE(TUMBLE({w}, INTERVAL '2' HOURS))) WHERE n = 1"
    ),
    "window_deduplicate_last": (
        "SELECT window_start, channel, id FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end, "
        "channel ORDER BY {time} DESC) AS n FROM TABLE(TUMBLE({w}, INTERVAL '30' MINUTES))) WHERE n = 1"
    ),
    "window_values": (
        "SELECT window_start, window_end, id FROM TABLE(HOP({w}, INTERVAL '1' HOUR, INTERVAL '2' HOUR)) WHERE qty = 7"
    ),
    "session_values": (
        "SELECT window_start, window_end, id FROM TABLE(SESSION({w_by_bidder}, INTERVAL '4' MINUTES)) WHERE qty = 7"
    ),
    "legacy_tumble": (
        "SELECT TUMBLE_START({time}, INTERVAL '1' HOUR), TUMBLE_END({time}, INTERVAL '1' HOUR), channel, COUNT(*), "
        "SUM(price) FROM {t} GROUP BY TUMBLE({time}, INTERVAL '1' HOUR), channel"
    ),
    "legacy_hop": (
        "SELECT HOP_START({time}, INTERVAL '1' HOUR, INTERVAL '3' HOUR), HOP_ROWTIME({time}, INTERVAL '1' HOUR, "
        "INTERVAL '3' HOUR), COUNT(*) FROM {t} GROUP BY HOP({time}, INTERVAL '1' HOUR, INTERVAL '3' HOUR)"
    ),
    "legacy_session": (
        "SELECT SESSION_START({time}, INTERVAL '5' MINUTE), SESSION_END({time}, INTERVAL '5' MINUTE), bidder, COUNT(*) "
        "FROM {t} GROUP BY SESSION({time}, INTERVAL '5' MINUTE), bidder"
    ),
    "over_rows": (
        "SELECT id, SUM(price) OVER w, COUNT(*) OVER w, AVG(amount) OVER w, MIN(url) OVER w FROM {t} "
        "WINDOW w AS (PARTITION BY auction ORDER BY {time} ROWS BETWEEN 3 PRECEDING AND CURRENT ROW)"
    ),
    "over_range": (
        "SELECT id, SUM(qty) OVER w, MAX(price) OVER w FROM {t} "
        "WINDOW w AS (PARTITION BY channel ORDER BY {time} RANGE BETWEEN INTERVAL '20' MINUTE PRECEDING AND CURRENT ROW)"
    ),
    "over_unbounded_rows": (
        "SELECT id, SUM(qty) OVER (PARTITION BY bidder ORDER BY {time} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), "
        "COUNT(DISTINCT channel) OVER (PARTITION BY bidder ORDER BY {time} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        " FROM {t}"
    ),
    "over_unbounded_range": (
        "SELECT id, COUNT(*) OVER (PARTITION BY flag ORDER BY {time}), SUM(price) OVER (PARTITION BY flag ORDER BY {time}) "
        "FROM {t} WHERE auction < 300"
    ),
    "over_first_last": (
        "SELECT id, FIRST_VALUE(id) OVER w, LAST_VALUE(channel) OVER w FROM {t} "
        "WINDOW w AS (PARTITION BY auction ORDER BY {time} ROWS BETWEEN 5 PRECEDING AND CURRENT ROW)"
    ),
    "over_lag": (
        "SELECT id, LAG(price) OVER (PARTITION BY bidder ORDER BY {time}), LAG(id, 2, CAST(-1 AS BIGINT)) OVER "
        "(PARTITION BY bidder ORDER BY {time}) FROM {t}"
    ),
    "over_row_number": "SELECT id, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY {time}) FROM {t}",
    "over_days": (
        "SELECT id, COUNT(*) OVER (PARTITION BY auction ORDER BY {time} RANGE BETWEEN INTERVAL '1' DAY PRECEDING "
        "AND CURRENT ROW) FROM {t} WHERE auction < 100"
    ),
    "order_by_time": "SELECT id, {time} FROM {t} WHERE auction < 100 ORDER BY {time}",
    "match": (
        "SELECT * FROM {t} MATCH_RECOGNIZE (PARTITION BY bidder ORDER BY {time} MEASURES A.id AS first_id, "
        "LAST(B.id) AS last_id, COUNT(B.id) AS n, AVG(B.price) AS p ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B+ C) DEFINE A AS A.price < 300, B AS B.price >= 300 AND B.price < 700, C AS C.price >= 700)"
    ),
    "match_within": (
        "SELECT bidder, a, c FROM {t} MATCH_RECOGNIZE (PARTITION BY bidder ORDER BY {time} MEASURES A.id AS a, C.id AS c "
        "ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW PATTERN (A B* C) WITHIN INTERVAL '2' MINUTE "
        "DEFINE A AS A.flag, B AS B.qty > LAST(B.qty, 1), C AS C.qty < 0)"
    ),
    "match_reluctant": (
        "SELECT auction, s, e, n FROM {t} MATCH_RECOGNIZE (PARTITION BY auction ORDER BY {time} MEASURES FIRST(A.id) AS s, "
        "B.id AS e, SUM(A.qty) AS n ONE ROW PER MATCH AFTER MATCH SKIP TO LAST B PATTERN (A{{2,4}}? B) "
        "DEFINE A AS A.qty > 2, B AS B.qty <= 2)"
    ),
    "interval_join": (
        "SELECT b.id, o.id, o.channel FROM {t} AS b JOIN {t} AS o ON b.auction = o.bidder "
        "AND b.{time} BETWEEN o.{time} - INTERVAL '30' MINUTE AND o.{time} + INTERVAL '1' HOUR"
    ),
    "interval_join_left": (
        "SELECT b.id, a.auction, a.category FROM {t} AS b LEFT JOIN {other} AS a ON b.auction = a.auction "
        "AND b.{time} BETWEEN a.{time} - INTERVAL '2' HOUR AND a.{time} + INTERVAL '1' HOUR"
    ),
    "interval_join_right": (
        "SELECT b.id, a.id FROM {t} AS b RIGHT JOIN {t} AS a ON b.auction = a.bidder AND a.qty > 10 "
        "AND b.{time} > a.{time} - INTERVAL '10' MINUTE AND b.{time} < a.{time} + INTERVAL '5' MINUTE"
    ),
    "interval_join_full": (
        "SELECT b.id, a.id FROM (SELECT * FROM {t} WHERE flag) AS b FULL JOIN (SELECT * FROM {t} WHERE qty > 5) AS a "
        "ON b.bidder = a.bidder AND b.channel = a.channel "
        "AND b.{time} BETWEEN a.{time} - INTERVAL '40' SECOND AND a.{time}"
    ),
    "window_join": (
        "SELECT x.window_start, x.id, y.id FROM (SELECT * FROM TABLE(TUMBLE({w}, INTERVAL '10' MINUTES)) WHERE qty > 12) "
        "AS x JOIN (SELECT * FROM TABLE(TUMBLE({w}, INTERVAL '10' MINUTES)) WHERE qty < 0) AS y ON x.auction = y.auction "
        "AND x.window_start = y.window_start AND x.window_end = y.window_end"
    ),
    "window_join_full": (
        "SELECT COALESCE(x.window_start, y.window_start), x.bidder, x.c, y.c FROM (SELECT window_start, window_end, bidder,"
        " COUNT(*) AS c FROM TABLE(TUMBLE({w}, INTERVAL '1' HOUR)) WHERE flag GROUP BY window_start, window_end, bidder) "
        "AS x FULL JOIN (SELECT window_start, window_end, bidder, COUNT(*) AS c FROM TABLE(TUMBLE({w}, INTERVAL '1' HOUR)) "
        "WHERE NOT flag GROUP BY window_start, window_end, bidder) AS y ON x.bidder = y.bidder "
        "AND x.window_start = y.window_start AND x.window_end = y.window_end"
    ),
    "window_semi_join": (
        "SELECT id, window_start FROM (SELECT * FROM TABLE(TUMBLE({w}, INTERVAL '30' MINUTES))) AS x WHERE x.auction IN "
        "(SELECT auction FROM (SELECT * FROM TABLE(TUMBLE({w}, INTERVAL '30' MINUTES)) WHERE qty > 17) AS y "
        "WHERE x.window_start = y.window_start AND x.window_end = y.window_end)"
    ),
    "window_anti_join": (
        "SELECT id, window_start FROM (SELECT * FROM TABLE(TUMBLE({w}, INTERVAL '30' MINUTES))) AS x WHERE NOT EXISTS "
        "(SELECT auction FROM (SELECT * FROM TABLE(TUMBLE({w}, INTERVAL '30' MINUTES)) WHERE qty > 2) AS y "
        "WHERE x.auction = y.auction AND x.window_start = y.window_start AND x.window_end = y.window_end)"
    ),
    "local_dates": (
        "SELECT id, CAST({time} AS DATE), CAST({time} AS STRING), EXTRACT(HOUR FROM {time}), FLOOR({time} TO DAY), "
        "DATE_FORMAT({time}, 'yyyy-MM-dd HH:mm:ss'), TO_TIMESTAMP_LTZ(tms, 3), CAST(TO_TIMESTAMP_LTZ(tms, 3) AS STRING), "
        "CAST(TO_TIMESTAMP_LTZ(tms, 3) AS TIMESTAMP(3)), CAST(CAST({time} AS TIMESTAMP(3)) AS TIMESTAMP_LTZ(3)), "
        "FROM_UNIXTIME(tms / 1000), UNIX_TIMESTAMP(CAST(CAST({time} AS TIMESTAMP(0)) AS STRING)), "
        "CONVERT_TZ('2024-03-10 02:30:00', 'UTC', 'America/New_York') FROM {t} WHERE MOD(id, 5) = 0"
    ),
    "local_groups": (
        "SELECT CAST({time} AS DATE), EXTRACT(HOUR FROM {time}), COUNT(*), SUM(price) FROM {t} "
        "GROUP BY CAST({time} AS DATE), EXTRACT(HOUR FROM {time})"
    ),
}
"""Queries by event time; `w` is the table with its time as argument of window functions."""

OTHERS = {
    "temporal_join": (
        "SELECT b.id, p.price, p.shop FROM bids_0 AS b JOIN prices FOR SYSTEM_TIME AS OF b.ts AS p ON b.auction = p.item"
    ),
    "temporal_join_left": (
        "SELECT b.id, b.auction, p.price FROM bids_1 AS b LEFT JOIN prices FOR SYSTEM_TIME AS OF b.ts AS p "
        "ON b.auction = p.item AND p.shop <> 'south'"
    ),
    "temporal_join_grouped": (
        "SELECT p.shop, COUNT(*), SUM(b.price - p.price) FROM bids AS b JOIN prices FOR SYSTEM_TIME AS OF b.ts AS p "
        "ON b.auction = p.item GROUP BY p.shop"
    ),
    "keyed_changes": "SELECT * FROM keyed",
    "keyed_filter": "SELECT id, status FROM keyed WHERE amount > 250",
    "keyed_group": "SELECT status, COUNT(*), SUM(amount) FROM keyed GROUP BY status",
    "keyed_join": ("SELECT k.id, p.price FROM keyed AS k JOIN prices AS p ON k.auction = p.item"),
    "keyed_join_by_key": "SELECT k.id, k.status, p.shop FROM keyed AS k LEFT JOIN prices AS p ON k.id = p.item",
    "keyed_join_full": (
        "SELECT k.id, p.item, p.shop FROM keyed AS k FULL JOIN prices AS p ON k.auction = p.item AND p.shop = 'north'"
    ),
    "keyed_semi_join": "SELECT id, status FROM keyed WHERE auction IN (SELECT item FROM prices WHERE price > 60)",
    "keyed_anti_join": "SELECT id FROM keyed WHERE auction NOT IN (SELECT item FROM prices WHERE shop = 'west')",
    "keyed_top_n": (
        "SELECT status, id, amount FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY status ORDER BY amount DESC, id) AS n "
        "FROM keyed) WHERE n <= 7"
    ),
    "keyed_max": "SELECT customer, MAX(amount), MIN(ts), COUNT(DISTINCT auction) FROM keyed GROUP BY customer",
    "first_last_value": (
        "SELECT auction, FIRST_VALUE(id), LAST_VALUE(price), LAST_VALUE(channel) FROM bids_0 GROUP BY auction"
    ),
    "listagg": "SELECT auction, LISTAGG(channel), LISTAGG(url, '; ') FROM bids_0 WHERE auction < 50 GROUP BY auction",
    "array_agg": "SELECT auction, ARRAY_AGG(id) FROM bids_0 WHERE auction < 50 GROUP BY auction",
    "changes_first_last": "SELECT auction, FIRST_VALUE(status), LAST_VALUE(id) FROM orders_0 GROUP BY auction",
    "changes_listagg": "SELECT auction, LISTAGG(status) FROM orders_0 WHERE auction < 200 GROUP BY auction",
    "changes_array_agg": "SELECT customer, ARRAY_AGG(id) FROM orders_0 WHERE customer < 30 GROUP BY customer",
    "nested": (
        "SELECT auction, place.city, a.place.zip, attributes['size'], tags[1], CARDINALITY(tags) FROM auctions AS a"
    ),
    "nested_group": "SELECT place, COUNT(*), MAX(attributes['age']) FROM auctions GROUP BY place",
    "unnest_map": "SELECT auction, k, v FROM auctions CROSS JOIN UNNEST(attributes) AS t (k, v)",
    "unnest_left": "SELECT auction, tag FROM auctions LEFT JOIN UNNEST(tags) AS t (tag) ON TRUE",
    "unnest_ordinality": "SELECT auction, tag, i FROM auctions CROSS JOIN UNNEST(tags) WITH ORDINALITY AS t (tag, i)",
    "order_all": "SELECT auction, category FROM auctions ORDER BY category DESC, auction",
}

STREAMING_ONLY = ("temporal", "keyed", "changes", "first_last", "listagg", "array_agg")
"""The prefixes of those over changes, or over the order of rows, which is arbitrary in BATCH mode."""

BATCH_ONLY = {
    "batch_sort": "SELECT channel, price, id FROM bids WHERE auction < 200 ORDER BY channel, price DESC, id",
    "batch_sort_nulls": "SELECT flag, amount, id FROM bids WHERE auction < 50 ORDER BY flag DESC NULLS LAST, amount, id",
    "batch_ntile": "SELECT id, NTILE(4) OVER (PARTITION BY auction ORDER BY id) FROM bids WHERE auction < 60",
    "batch_percent_rank": (
        "SELECT id, PERCENT_RANK() OVER (PARTITION BY channel ORDER BY qty), CUME_DIST() OVER (PARTITION BY channel "
        "ORDER BY qty, id) FROM bids WHERE auction < 200"
    ),
    "batch_rank": (
        "SELECT id, RANK() OVER w, DENSE_RANK() OVER w FROM bids WHERE auction < 300 "
        "WINDOW w AS (PARTITION BY channel ORDER BY qty)"
    ),
    "batch_over_following": (
        "SELECT id, SUM(qty) OVER (PARTITION BY auction ORDER BY id ROWS BETWEEN 2 PRECEDING AND 2 FOLLOWING), "
        "LEAD(id, 1) OVER (PARTITION BY auction ORDER BY id), MAX(price) OVER (PARTITION BY auction ORDER BY id "
        "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM bids WHERE auction < 300"
    ),
    "batch_over_range": (
        "SELECT id, COUNT(*) OVER (PARTITION BY channel ORDER BY qty RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM bids "
        "WHERE auction < 100"
    ),
    "batch_limit": "SELECT COUNT(*) FROM (SELECT * FROM bids LIMIT 100)",
}


NEXMARK_ROWS = {
    "q10": nexmark.UNTIMED["q10"],
    "bids_of_bidders": "SELECT bidder, COUNT(*) AS bid_count FROM bid GROUP BY bidder",
    "bids_with_side_input": (
        "SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value` FROM bid AS B JOIN side_input AS S "
        "ON MOD(B.auction, 10000) = S.key"
    ),
}
"""What Flink can say of q10, q12 and q13: the rows of the files; all bids, though not their windows in processing time;
and the join, as none of Flink's own connectors has lookups."""


WRONG_IN_FLINK_OVER_CHANGES = frozenset({"top_n_offset", "order_offset"})
"""Flink's changes remove rows that they never added."""

IN_MINI_BATCHES = (
    "count",
    "group",
    "group_filter",
    "group_distinct",
    "group_twice",
    "top_n_of_groups",
    "join_of_groups_left",
)


IN_MORE_ZONES = frozenset(
    [
        "correlated_count",
        "cube",
        "deduplicate_first",
        "distinct",
        "except",
        "except_all",
        "exists",
        "group",
        "group_filter",
        "group_having",
        "grouping_sets",
        "in",
        "intersect",
        "intersect_all",
        "join_full",
        "join_inner",
        "join_left",
        "join_right",
        "join_three",
        "lateral",
        "not_in",
        "order_limit",
        "qualify",
        "rollup",
        "scalar_subquery_of_few",
        "select_where",
        "union",
        "union_all",
        "unnest",
        "values_join",
        "with",
    ]
)
"""A query for each operator without time. Its results do not depend on the zone, which is seen that way."""


def queries() -> Iterator[Query]:
    """Return all queries."""
    for name, sql in SELECTED.items():
        inserts, changes = ((UTC, NEW_YORK), (UTC, SHANGHAI)) if name in IN_MORE_ZONES else ((UTC,), (UTC,))
        yield Query(name, sql.format(t="bids"), zones=inserts)
        if name not in WRONG_IN_FLINK_OVER_CHANGES:
            yield Query(f"{name}_of_changes", sql.format(t="changed"), STREAMING, changes)
    for name in IN_MINI_BATCHES:
        for suffix, table in (("", "bids"), ("_of_changes", "changed")):
            sql = SELECTED[name].format(t=table)
            yield Query(f"{name}{suffix}_in_mini_batches", sql, STREAMING, options=MINI_BATCH)
    for name, sql in TIMED.items():
        yield Query(name, _timed(sql, "bids", "ts"))
        yield Query(f"{name}_ltz", _timed(sql, "bids_ltz", "lt"), STREAMING, ZONES)
        for suffix, time, zones in (("", "ts", (UTC,)), ("_ltz", "lt", (SHANGHAI,))):
            over_changes = _timed(sql, f"timed_changes{suffix}", time)
            yield Query(f"{name}_of_changes{suffix}", over_changes, STREAMING, zones, EACH_RECORD, parallelism=1)
    for name, sql in OTHERS.items():
        yield Query(name, sql, STREAMING if name.startswith(STREAMING_ONLY) else BOTH)
    for name, (_, sql) in nexmark.QUERIES.items():
        yield Query(f"nexmark_{name}", sql, STREAMING)
    for name, sql in NEXMARK_ROWS.items():
        yield Query(f"nexmark_{name}", sql, STREAMING)
    for name, sql in BATCH_ONLY.items():
        yield Query(name, sql, ("batch",), parallelism=1)


def _timed(sql: str, table: str, time: str) -> str:
    window = f"TABLE {table}, DESCRIPTOR({time})"
    by_bidder = f"TABLE {table} PARTITION BY bidder, DESCRIPTOR({time})"
    other = "auctions_ltz" if time == "lt" else "auctions"
    return sql.format(t=table, time=time, w=window, w_by_bidder=by_bidder, windowed=f"windowed_{table}", other=other)
