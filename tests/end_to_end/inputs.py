"""Files that the programs read: orders, customers, clicks, sensor readings, changes of products, and a text."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import NamedTuple

__all__ = ["Order", "clicks", "lines", "orders", "write_inputs"]

_START = datetime(2024, 5, 1, 10)
_WORDS = "to be or not to be that is the question whether tis nobler in the mind to suffer the slings and arrows"


def write_inputs(directory: Path) -> None:
    """Write the files, which are the same each time; times are out of order by at most four seconds."""
    random = Random(39)
    files = {
        "text/lines.txt": [" ".join(random.choices(_WORDS.split(), k=8)) for _ in range(60)],
        "orders/orders.csv": [_order(number, random) for number in range(1, 301)],
        "customers/customers.csv": [f"c{n},Name {n},{('Oslo', 'Rome', 'Lima')[n % 3]}" for n in range(1, 11)],
        **{f"clicks/{part}.json": [_click(number, random) for number in range(part, 240, 3)] for part in range(3)},
        "sensors/readings.csv": [
            f"s{n % 4},{_time(5 * n, random)},{random.randrange(-50, 400) / 10}" for n in range(200)
        ],
        "changes/products.json": _changes(random),
    }
    for name, lines in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("".join(f"{line}\n" for line in lines))


class Order(NamedTuple):
    """A line of the orders."""

    id: int
    customer: str
    product: str
    amount: Decimal
    ts: str


def orders(directory: Path) -> list[Order]:
    """Return the orders that are written there."""
    rows = [line.split(",") for line in lines(directory / "orders/orders.csv")]
    return [
        Order(int(number), customer, product, Decimal(amount), ts) for number, customer, product, amount, ts in rows
    ]


def clicks(directory: Path) -> list[dict[str, str]]:
    """Return the clicks that are written there, in their order."""
    found = [json.loads(line) for part in range(3) for line in lines(directory / f"clicks/{part}.json")]
    return sorted(found, key=lambda click: click["ts"])


def lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text().splitlines()


def _time(second: int, random: Random) -> str:
    return str(_START + timedelta(seconds=second - random.randrange(5)))


def _order(number: int, random: Random) -> str:
    customer, product = f"c{random.randrange(1, 13)}", f"p{random.randrange(1, 8)}"
    return f"{number},{customer},{product},{random.randrange(100, 9000) / 100:.2f},{_time(20 * number, random)}"


def _click(number: int, random: Random) -> str:
    user, page = f"u{random.randrange(6)}", random.choice(["/", "/shop", "/cart", "/pay"])
    return json.dumps({"user": user, "page": page, "ts": _time(10 * number, random)})


def _changes(random: Random) -> list[str]:
    """Changes in Debezium's form."""
    prices: dict[int, int] = {}
    lines = []
    for _ in range(150):
        product = random.randrange(1, 15)
        before = {"id": product, "price": prices[product]} if product in prices else None
        if before is not None and random.random() < 0.2:
            del prices[product]
            lines.append(json.dumps({"before": before, "after": None, "op": "d"}))
            continue
        prices[product] = random.randrange(1, 500)
        after = {"id": product, "price": prices[product]}
        lines.append(json.dumps({"before": before, "after": after, "op": "u" if before else "c"}))
    return lines
