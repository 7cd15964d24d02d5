"""W1: JSON text is made from numbers, parsed, changed, filtered and split into 1.8 records for each; no exchange."""

from __future__ import annotations

import json

from pyflink.common import Types

TITLE = "W1: parse, map, filter, flat_map"
TEXT = "JSON text is made from numbers, parsed, changed, filtered and split into 1.8 records for each; no exchange."


def make(n):
    return f'{{"id": {n}, "user": "user-{n % 1000}", "amount": {n % 997 / 10}, "tags": ["t{n % 7}", "u{n % 5}"]}}'


def with_cents(event):
    event["cents"] = round(event["amount"] * 100)
    return event


def is_valid(event):
    return event["id"] % 10 != 0


def by_tag(event):
    for tag in event["tags"]:
        yield tag, event["user"], event["cents"]


def build(positions):
    return (
        positions.map(make, Types.STRING())
        .map(json.loads)
        .map(with_cents)
        .filter(is_valid)
        .flat_map(by_tag, Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()]))
    )


def expected(records):
    """Two for each but every tenth."""
    return 2 * (records - (records + 9) // 10)


ROW = None


def rows(positions):
    found = []
    for n in positions:
        event = with_cents(json.loads(make(n)))
        if is_valid(event):
            found += by_tag(event)
    return found
