"""The input streams of the queries."""

from __future__ import annotations

from pyflink.common import Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner

from nexmark.generator import AUCTION, BID, PERSON, Events

TEXT, NUMBER = Types.STRING(), Types.LONG()
PERSON_TYPE = Types.TUPLE([NUMBER, TEXT, TEXT, TEXT, TEXT, TEXT, NUMBER, TEXT])
AUCTION_TYPE = Types.TUPLE([NUMBER, TEXT, TEXT, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, TEXT])
BID_TYPE = Types.TUPLE([NUMBER, NUMBER, NUMBER, TEXT, TEXT, NUMBER, TEXT])


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1]


def events(positions, seed=42):
    """Return all events, with their times."""
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    return positions.map(Events(seed)).assign_timestamps_and_watermarks(in_order)


def fields(event):
    return event[2]


def persons(all_events):
    """Return (id, name, e-mail, credit card, city, state, time, extra)."""
    return all_events.filter(lambda event: event[0] == PERSON).map(fields, PERSON_TYPE)


def auctions(all_events):
    """Return (id, item, description, initial bid, reserve, time, expires, seller, category, extra)."""
    return all_events.filter(lambda event: event[0] == AUCTION).map(fields, AUCTION_TYPE)


def bids(all_events):
    """Return (auction, bidder, price, channel, url, time, extra)."""
    return all_events.filter(lambda event: event[0] == BID).map(fields, BID_TYPE)
