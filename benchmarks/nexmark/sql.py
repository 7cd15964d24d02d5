"""Queries q0 to q22 in SQL as the Nexmark benchmark for Flink states them, over files of JSON lines.

q6 is left out, as Flink has no OVER aggregate of an updating input. `UNTIMED` has the others that are not measured:
q10 (a partitioned file sink), q12 (processing time) and q13 (a lookup join).
"""

from __future__ import annotations

import datetime
import json
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path

from nexmark.generator import Events

_FILES = 4
_START = datetime.datetime(2026, 1, 1)
_FIELDS = (
    ("person", "id name emailAddress creditCard city state dateTime extra"),
    ("auction", "id itemName description initialBid reserve dateTime expires seller category extra"),
    ("bid", "auction bidder price channel url dateTime extra"),
)
_TIMES = ("dateTime", "expires")

SOURCE = """CREATE TABLE events (
  event_type INT,
  person ROW<id BIGINT, name VARCHAR, emailAddress VARCHAR, creditCard VARCHAR, city VARCHAR, state VARCHAR,
    `dateTime` TIMESTAMP(3), extra VARCHAR>,
  auction ROW<id BIGINT, itemName VARCHAR, description VARCHAR, initialBid BIGINT, reserve BIGINT,
    `dateTime` TIMESTAMP(3), expires TIMESTAMP(3), seller BIGINT, category BIGINT, extra VARCHAR>,
  bid ROW<auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, `dateTime` TIMESTAMP(3),
    extra VARCHAR>,
  `dateTime` AS CASE WHEN event_type = 0 THEN person.`dateTime` WHEN event_type = 1 THEN auction.`dateTime`
    ELSE bid.`dateTime` END,
  WATERMARK FOR `dateTime` AS `dateTime` - INTERVAL '4' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')"""

VIEWS = tuple(
    f"CREATE VIEW {name} AS SELECT "
    + ", ".join("`dateTime`" if field == "dateTime" else f"{name}.{field} AS {field}" for field in fields.split())
    + f" FROM events WHERE event_type = {number}"
    for number, (name, fields) in enumerate(_FIELDS)
)

_BIDS_PER_AUCTION = """SELECT auction, COUNT(*) AS num, window_start AS starttime, window_end AS endtime
  FROM TABLE(HOP(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '2' SECOND, INTERVAL '10' SECOND))
  GROUP BY auction, window_start, window_end"""

_DAY = "DATE_FORMAT(`dateTime`, 'yyyy-MM-dd')"

_LOW, _MIDDLE, _HIGH = "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000"


def _counts(*counted: str) -> str:
    """Return counts of all bids and by rank of price, for each counted expression."""
    return ", ".join(
        f"COUNT({what}){filtered} AS {name}_{number}"
        for number, what in enumerate(counted)
        for name, filtered in (
            ("total", ""),
            ("rank1", f" FILTER (WHERE {_LOW})"),
            ("rank2", f" FILTER (WHERE {_MIDDLE})"),
            ("rank3", f" FILTER (WHERE {_HIGH})"),
        )
    )


QUERIES = {
    "q0": ("Pass through", "SELECT auction, bidder, price, `dateTime`, extra FROM bid"),
    "q1": (
        "Currency conversion",
        "SELECT auction, bidder, 0.908 * price AS price, `dateTime`, extra FROM bid",
    ),
    "q2": ("Selection", "SELECT auction, price FROM bid WHERE MOD(auction, 123) = 0"),
    "q3": (
        "Local item suggestion",
        """SELECT P.name, P.city, P.state, A.id FROM auction AS A INNER JOIN person AS P ON A.seller = P.id
WHERE A.category = 10 AND (P.state = 'OR' OR P.state = 'ID' OR P.state = 'CA')""",
    ),
    "q4": (
        "Average price for a category",
        """SELECT Q.category, AVG(Q.final) AS average FROM (
  SELECT MAX(B.price) AS final, A.category FROM auction A, bid B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires GROUP BY A.id, A.category
) Q GROUP BY Q.category""",
    ),
    "q5": (
        "Hot items",
        f"""SELECT AuctionBids.auction, AuctionBids.num FROM ({_BIDS_PER_AUCTION}) AS AuctionBids JOIN (
  SELECT MAX(CountBids.num) AS maxn, CountBids.starttime, CountBids.endtime
  FROM ({_BIDS_PER_AUCTION}) AS CountBids GROUP BY CountBids.starttime, CountBids.endtime
) AS MaxBids ON AuctionBids.starttime = MaxBids.starttime AND AuctionBids.endtime = MaxBids.endtime
AND AuctionBids.num >= MaxBids.maxn""",
    ),
    "q7": (
        "Highest bid",
        """SELECT B.auction, B.price, B.bidder, B.`dateTime`, B.extra FROM bid B JOIN (
  SELECT MAX(price) AS maxprice, window_end AS `dateTime`
  FROM TABLE(TUMBLE(TABLE bid, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) GROUP BY window_start, window_end
) B1 ON B.price = B1.maxprice
WHERE B.`dateTime` BETWEEN B1.`dateTime` - INTERVAL '10' SECOND AND B1.`dateTime`""",
    ),
    "q8": (
        "Monitor new users",
        """SELECT P.id, P.name, P.starttime FROM (
  SELECT id, name, window_start AS starttime, window_end AS endtime
  FROM TABLE(TUMBLE(TABLE person, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY id, name, window_start, window_end
) P JOIN (
  SELECT seller, window_start AS starttime, window_end AS endtime
  FROM TABLE(TUMBLE(TABLE auction, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND))
  GROUP BY seller, window_start, window_end
) A ON P.id = A.seller AND P.starttime = A.starttime AND P.endtime = A.endtime""",
    ),
    "q9": (
        "Winning bids",
        """SELECT id, itemName, description, initialBid, reserve, `dateTime`, expires, seller, category, extra, auction,
  bidder, price, bid_dateTime, bid_extra FROM (
  SELECT A.*, B.auction, B.bidder, B.price, B.`dateTime` AS bid_dateTime, B.extra AS bid_extra,
    ROW_NUMBER() OVER (PARTITION BY A.id ORDER BY B.price DESC, B.`dateTime` ASC) AS rownum
  FROM auction A, bid B WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires
) WHERE rownum <= 1""",
    ),
    "q11": (
        "User sessions",
        """SELECT B.bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(`dateTime`), INTERVAL '10' SECOND)) B
GROUP BY bidder, window_start, window_end""",
    ),
    "q14": (
        "Calculation",
        """SELECT auction, bidder, 0.908 * price AS price,
  CASE WHEN HOUR(`dateTime`) >= 8 AND HOUR(`dateTime`) <= 18 THEN 'dayTime'
       WHEN HOUR(`dateTime`) <= 6 OR HOUR(`dateTime`) >= 20 THEN 'nightTime' ELSE 'otherTime' END AS bidTimeType,
  `dateTime`, extra, CHAR_LENGTH(extra) - CHAR_LENGTH(REPLACE(extra, 'x', '')) AS x_counts
FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000""",
    ),
    "q15": (
        "Bidding statistics",
        f"SELECT {_DAY} AS `day`, {_counts('*', 'DISTINCT bidder', 'DISTINCT auction')} FROM bid GROUP BY {_DAY}",
    ),
    "q16": (
        "Channel statistics",
        f"""SELECT channel, {_DAY} AS `day`, MAX(DATE_FORMAT(`dateTime`, 'HH:mm')) AS `minute`,
  {_counts("*", "DISTINCT bidder", "DISTINCT auction")} FROM bid GROUP BY channel, {_DAY}""",
    ),
    "q17": (
        "Auction statistics",
        f"""SELECT auction, {_DAY} AS `day`, {_counts("*")}, MIN(price) AS min_price, MAX(price) AS max_price,
  AVG(price) AS avg_price, SUM(price) AS sum_price FROM bid GROUP BY auction, {_DAY}""",
    ),
    "q18": (
        "Last bid",
        """SELECT auction, bidder, price, channel, url, `dateTime`, extra FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY bidder, auction ORDER BY `dateTime` DESC) AS rank_number FROM bid
) WHERE rank_number <= 1""",
    ),
    "q19": (
        "Auction top 10",
        """SELECT * FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC) AS rank_number FROM bid
) WHERE rank_number <= 10""",
    ),
    "q20": (
        "Bids with their auction",
        """SELECT auction, bidder, price, channel, url, B.`dateTime` AS bid_time, B.extra AS bid_extra, itemName,
  description, initialBid, reserve, A.`dateTime` AS auction_time, expires, seller, category, A.extra AS auction_extra
FROM bid AS B INNER JOIN auction AS A ON B.auction = A.id WHERE A.category = 10""",
    ),
    "q21": (
        "Channel ids",
        """SELECT auction, bidder, price, channel, CASE WHEN LOWER(channel) = 'apple' THEN '0'
    WHEN LOWER(channel) = 'google' THEN '1' WHEN LOWER(channel) = 'facebook' THEN '2'
    WHEN LOWER(channel) = 'baidu' THEN '3' ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) END AS channel_id
FROM bid WHERE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2) IS NOT NULL
  OR LOWER(channel) IN ('apple', 'google', 'facebook', 'baidu')""",
    ),
    "q22": (
        "Directories of URLs",
        """SELECT auction, bidder, price, channel, SPLIT_INDEX(url, '/', 3) AS dir1, SPLIT_INDEX(url, '/', 4) AS dir2,
  SPLIT_INDEX(url, '/', 5) AS dir3 FROM bid""",
    ),
}
"""Title and text of each query."""

SIDE_INPUT = tuple((number, f"v{number}") for number in range(0, 10_000, 3))
"""Keys and values of the table that q13 looks up."""

UNTIMED = {
    "q10": f"""SELECT auction, bidder, price, `dateTime`, extra, {_DAY} AS dt, DATE_FORMAT(`dateTime`, 'HH:mm') AS hm
FROM bid""",
    "q12": """SELECT bidder, COUNT(*) AS bid_count, window_start AS starttime, window_end AS endtime
FROM TABLE(TUMBLE((SELECT *, PROCTIME() AS p_time FROM bid), DESCRIPTOR(p_time), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end""",
    "q13": """SELECT B.auction, B.bidder, B.price, B.`dateTime`, S.`value`
FROM (SELECT *, PROCTIME() AS p_time FROM bid) B
JOIN side_input FOR SYSTEM_TIME AS OF B.p_time AS S ON MOD(B.auction, 10000) = S.key""",
}
"""Text of the queries that are not measured; q10 is written to a table with the partitions `dt` and `hm`."""


def _time(millis: int) -> str:
    return (_START + datetime.timedelta(milliseconds=millis)).isoformat(" ", "milliseconds")


def lines(records: int) -> Iterator[str]:
    """Yield this many events as lines of JSON."""
    events = Events()
    for number in range(records):
        kind, _, values = events(number)
        name, fields = _FIELDS[kind]
        row = {
            field: _time(value) if field in _TIMES else value
            for field, value in zip(fields.split(), values, strict=True)
        }
        yield json.dumps({"event_type": kind, name: row}, separators=(",", ":")) + "\n"


@cache
def files(records: int) -> Path:
    """Return a directory with this many events in files of consecutive ones, written once on a machine."""
    path = Path(tempfile.gettempdir()) / f"bench_nexmark_{records}"
    if not path.is_dir():
        directory = Path(tempfile.mkdtemp(dir=path.parent))
        events = lines(records)
        for index in range(_FILES):
            with (directory / f"part-{index}.json").open("w") as file:
                file.writelines(islice(events, -(-records // _FILES)))
        directory.rename(path)
    return path
