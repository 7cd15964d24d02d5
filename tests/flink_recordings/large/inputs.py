"""Large inputs of recorded queries: files out of order, with updates and deletes in every second, the same on each run.

No record is late: watermarks wait longer than the disorder. So results don't depend on how the files are read.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
if str(BENCHMARKS) not in sys.path:
    sys.path.insert(0, str(BENCHMARKS))

from nexmark import sql as nexmark  # noqa: E402

Row = dict[str, Any]

START = datetime(2024, 3, 9, 20, 0, tzinfo=UTC)
"""Eleven hours later, clocks in New York go forward."""

SPAN_S = 86_400
DISORDER_S = 15
SPLITS = 3
BIDS, ORDERS, PRICES, AUCTIONS, EVENTS = 30_000, 24_000, 6_000, 2_000, 30_000
STATUSES = ("new", "paid", "sent", "closed")

TABLES = {
    "bids": (
        "id BIGINT, auction INT, bidder INT, price DECIMAL(10, 2), amount DOUBLE, qty SMALLINT, channel STRING, "
        "url STRING, flag BOOLEAN, d DATE, tms BIGINT, ts TIMESTAMP(3)"
    ),
    "orders": (
        "id INT, customer INT, auction INT, status STRING, amount DECIMAL(10, 2), qty INT, weight DOUBLE, "
        "tms BIGINT, ts TIMESTAMP(3)"
    ),
    "prices": "item INT, price DECIMAL(10, 2), shop STRING, tms BIGINT, ts TIMESTAMP(3)",
    "auctions": (
        "auction INT, seller INT, category STRING, reserve DECIMAL(10, 2), tags ARRAY<STRING>, "
        "attributes MAP<STRING, INT>, place ROW<city STRING, zip INT>, tms BIGINT, ts TIMESTAMP(3)"
    ),
}


def _watermark(column: str) -> str:
    return f"WATERMARK FOR {column} AS {column} - INTERVAL '{DISORDER_S + 5}' SECOND"


LOCAL_TIME = f"lt AS TO_TIMESTAMP_LTZ(tms, 3), {_watermark('lt')}"
CHANGED = (
    "SELECT CAST(id AS BIGINT) AS id, auction, customer AS bidder, amount AS price, weight AS amount, "
    "CAST(qty * 3 - 5 AS SMALLINT) AS qty, status AS channel, CONCAT('https://shop.test/', status, '/', "
    "CAST(id AS STRING), '?ref=', CAST(qty AS STRING)) AS url, qty > 4 AS flag, CAST(ts AS DATE) AS d, tms,"
)
"""The columns of `bids`, of `orders`."""


def write_inputs(directory: Path) -> None:
    """Write the files of all tables below a directory."""
    for split in range(SPLITS):
        _write(directory / f"bids/{split}", _bids(split))
        _write(directory / f"orders/{split}", _changes(random.Random(f"orders {split}"), split, ORDERS, _order, 0.15))
    _write(directory / "prices", _changes(random.Random("prices"), 0, PRICES * SPLITS, _price, 0))
    _write(directory / "auctions", _auctions())
    _write(directory / "side_input", ({"key": key, "value": value} for key, value in nexmark.SIDE_INPUT))
    _write(directory / "events", map(json.loads, nexmark.lines(EVENTS)))


def declarations(directory: Path, *, with_changes: bool) -> list[str]:
    """Return the statements that declare the tables, with those of changes only for STREAMING.

    A view unites the splits of `bids` and `orders`: each is a source with a watermark of its own. `*_ltz` have the
    event time `lt`, a TIMESTAMP_LTZ. `keyed` is the first split of `orders` with a primary key, `timed_orders` the same
    split with event time, `prices` a versioned table. `changed` and `timed_changes` are orders with the columns of
    `bids`. `person`, `auction`, `bid` and `side_input` are the tables of the Nexmark benchmark.
    """
    statements = [nexmark.SOURCE.format(path=directory / "events"), *nexmark.VIEWS]
    statements.append(_create("side_input", "key BIGINT, `value` STRING", directory / "side_input", "json"))
    for suffix, time in (("", _watermark("ts")), ("_ltz", LOCAL_TIME)):
        statements += _united("bids", f"bids{suffix}", "json", f", {time}", directory)
        declared = f"{TABLES['auctions']}, {time}"
        statements.append(_create(f"auctions{suffix}", declared, directory / "auctions", "json"))
    statements += [_windowed("bids", "ts"), _windowed("bids_ltz", "lt")]
    return statements + _changing(directory) if with_changes else statements


def _changing(directory: Path) -> list[str]:
    key, time = "PRIMARY KEY ({}) NOT ENFORCED", _watermark("ts")
    form, orders, files = "debezium-json", TABLES["orders"], directory / "orders/0"
    versioned = f"{TABLES['prices']}, {key.format('item')}, {time}"
    return [
        *_united("orders", "orders", form, "", directory),
        _create("keyed", f"{orders}, {key.format('id')}", files, form),
        _create("timed_orders", f"{orders}, {time}", files, form),
        _create("timed_orders_ltz", f"{orders}, {LOCAL_TIME}", files, form),
        _create("prices", versioned, directory / "prices", form),
        f"CREATE TEMPORARY VIEW changed AS {CHANGED} ts FROM orders",
        f"CREATE TEMPORARY VIEW timed_changes AS {CHANGED} ts FROM timed_orders",
        f"CREATE TEMPORARY VIEW timed_changes_ltz AS {CHANGED} lt FROM timed_orders_ltz",
        _windowed("timed_changes", "ts"),
        _windowed("timed_changes_ltz", "lt"),
    ]


def _united(table: str, name: str, form: str, more: str, directory: Path) -> list[str]:
    splits = [f"{name}_{split}" for split in range(SPLITS)]
    parts = " UNION ALL ".join(f"SELECT * FROM {split}" for split in splits)
    return [
        *(
            _create(split, TABLES[table] + more, directory / f"{table}/{number}", form)
            for number, split in enumerate(splits)
        ),
        f"CREATE TEMPORARY VIEW {name} AS {parts}",
    ]


def _windowed(table: str, time: str) -> str:
    windows = f"TABLE(TUMBLE(TABLE {table}, DESCRIPTOR({time}), INTERVAL '1' HOUR))"
    query = f"SELECT window_time AS t, COUNT(*) AS c FROM {windows} GROUP BY window_start, window_end, window_time"
    return f"CREATE TEMPORARY VIEW windowed_{table} AS {query}"


def _create(name: str, columns: str, directory: Path, form: str) -> str:
    options = {"connector": "filesystem", "path": directory.as_uri(), "format": form}
    text = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    return f"CREATE TEMPORARY TABLE {name} ({columns}) WITH ({text})"


def _write(directory: Path, rows: Iterator[Row]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "rows.json").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def _time(randoms: random.Random, number: int, count: int) -> Row:
    """Return the event time of a row: no two of one table are equal; a third is out of order by up to 15 s."""
    second = number * SPAN_S // count - (randoms.randrange(1, DISORDER_S) if randoms.random() < 1 / 3 else 0)
    time = START + timedelta(seconds=second, milliseconds=number % 1000)
    text = time.replace(tzinfo=None).isoformat(" ", "milliseconds")
    return {"tms": int(time.timestamp() * 1000), "ts": text}


def _sometimes(randoms: random.Random, value: object, share: float = 0.04) -> Any:
    return None if randoms.random() < share else value


def _bids(split: int) -> Iterator[Row]:
    """Each bidder is active for some minutes at a time, so that sessions end; few auctions have most of the bids."""
    randoms = random.Random(f"bids {split}")
    for number in range(split, BIDS, SPLITS):
        minute = number * SPAN_S // BIDS // 60
        auction = min(randoms.randrange(AUCTIONS), randoms.randrange(AUCTIONS), randoms.randrange(AUCTIONS))
        time = _time(randoms, number, BIDS)
        yield {
            "id": number,
            "auction": auction,
            "bidder": _sometimes(randoms, (minute // 11 * 17 + randoms.randrange(20)) % 300),
            "price": _cents(randoms, 100_000),
            "amount": _sometimes(randoms, randoms.randrange(-4000, 4000) / 8),
            "qty": randoms.randrange(-5, 20),
            "channel": _sometimes(randoms, randoms.choice(("web", "app", "Shop ", "phone", ""))),
            "url": f"https://shop.test/{randoms.choice('abcd')}/{auction}?ref={randoms.randrange(50)}&l=ä",
            "flag": _sometimes(randoms, randoms.random() < 0.5),
            "d": (START + timedelta(days=randoms.randrange(-40, 40))).date().isoformat(),
            **time,
        }


def _cents(randoms: random.Random, limit: int) -> Any:
    return _sometimes(randoms, randoms.randrange(limit) / 100)


def _changes(randoms: random.Random, split: int, count: int, row: Any, deletes: float) -> Iterator[Row]:
    """Return changes in Debezium's form: all of a key are in one split; half of them update, some delete.

    A row that is deleted has the time of its last version. So a versioned table must not have any: which rows found
    that version would depend on how fast the other table is read.
    """
    present: dict[int, Row] = {}
    for number in range(split, count, SPLITS):
        key = randoms.randrange(count // 12) * SPLITS + split
        before = present.pop(key, None)
        if before is not None and randoms.random() < deletes:
            yield {"before": before, "after": None, "op": "d"}
            continue
        after = present[key] = row(randoms, key, before) | _time(randoms, number, count)
        yield {"before": before, "after": after, "op": "c" if before is None else "u"}


def _order(randoms: random.Random, key: int, before: Row | None) -> Row:
    customer = randoms.randrange(300) if before is None or randoms.random() < 0.2 else before["customer"]
    return {
        "id": key,
        "customer": _sometimes(randoms, customer),
        "auction": randoms.randrange(AUCTIONS),
        "status": _sometimes(randoms, randoms.choice(STATUSES)),
        "amount": _cents(randoms, 50_000),
        "qty": randoms.randrange(1, 9),
        "weight": _sometimes(randoms, randoms.randrange(4000) / 16),
    }


def _price(randoms: random.Random, key: int, before: Row | None) -> Row:
    return {"item": key // SPLITS, "price": _cents(randoms, 9_000), "shop": randoms.choice(("north", "south", "west"))}


def _auctions() -> Iterator[Row]:
    randoms = random.Random("auctions")
    for number in range(AUCTIONS):
        yield {
            "auction": number,
            "seller": randoms.randrange(100),
            "category": _sometimes(randoms, randoms.choice(("art", "toys", "cars", "books"))),
            "reserve": _cents(randoms, 20_000),
            "tags": _sometimes(randoms, [randoms.choice("xyzw") for _ in range(randoms.randrange(4))]),
            "attributes": {"size": randoms.randrange(9), "age": _sometimes(randoms, randoms.randrange(99))},
            "place": _sometimes(randoms, {"city": randoms.choice(("Rome", "Oslo")), "zip": randoms.randrange(9)}),
            **_time(randoms, number, AUCTIONS),
        }
