"""The events of the auction site: event number n is always the same, independent of the order of generation."""

from __future__ import annotations

PERSON, AUCTION, BID = 0, 1, 2
"""Kinds of events."""

_PERSONS, _AUCTIONS = 1, 3
_PER_EPOCH = 50
FIRST_PERSON_ID = FIRST_AUCTION_ID = 1000
FIRST_CATEGORY_ID = 10
CATEGORIES = 5
_ACTIVE_PERSONS = 1000
_OPEN_AUCTIONS = 100
_LEAD = 10
"""Number of ids beyond the existing ones that are drawn, too."""
_HOT = 100
"""One in this number of ids is a hot one."""
EVENTS_PER_S = 1000
"""In event time."""
_LIFETIME_MS = 2 * _OPEN_AUCTIONS * _PER_EPOCH // _AUCTIONS * 1000 // EVENTS_PER_S

STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
CHANNELS = ("Apple", "Google", "Facebook", "Baidu")
_PADDING = "x" * 400

_MASK = (1 << 64) - 1


def _bits(seed, number):
    """Return 64 pseudo-random bits (SplitMix64)."""
    x = (number + seed) * 0x9E3779B97F4A7C15 & _MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
    return x ^ x >> 31


def _last_person(number):
    """Return the number of the last person, counted from 0."""
    return number // _PER_EPOCH


def _last_auction(number):
    """Return the number of the last auction, counted from 0; -1 before the first."""
    epoch, offset = divmod(number, _PER_EPOCH)
    return epoch * _AUCTIONS + min(offset - _PERSONS, _AUCTIONS - 1)


def _any_person(number, bits):
    count = _last_person(number) + 1
    active = min(count, _ACTIVE_PERSONS)
    return count - active + bits % (active + _LEAD)


def _any_auction(number, bits):
    last = _last_auction(number)
    first = max(last - _OPEN_AUCTIONS, 0)
    return first + bits % (last - first + 1 + _LEAD)


def _price(bits):
    """Return a price in cents, up to a million dollars, with log-uniform distribution, from 20 bits."""
    return round(10 ** (bits / (1 << 20) * 6) * 100)


def _person(number, bits):
    """Return (id, name, e-mail, credit card, city, state, time, extra)."""
    first, last = FIRST_NAMES[bits % 11], LAST_NAMES[(bits >> 8) % 9]
    card = f"{bits >> 48:04d} {bits >> 32 & 4095:04d} {bits >> 20 & 4095:04d} {bits & 4095:04d}"
    city, state = CITIES[(bits >> 16) % 10], STATES[(bits >> 24) % 6]
    mail = f"{first}.{last}@example.com"
    person_id = FIRST_PERSON_ID + _last_person(number)
    return person_id, f"{first} {last}", mail, card, city, state, time_of(number), _PADDING[: bits % 120]


def _auction(number, bits):
    """Return (id, item, description, initial bid, reserve, time, expires, seller, category, extra)."""
    auction_id = FIRST_AUCTION_ID + _last_auction(number)
    hot = bits & 3
    seller = _last_person(number) // _HOT * _HOT if hot else _any_person(number, bits >> 2 & 0xFFFF)
    initial = _price(bits >> 18 & 0xFFFFF)
    time = time_of(number)
    expires = time + 1 + (bits >> 38 & 0xFFFF) % _LIFETIME_MS
    category = FIRST_CATEGORY_ID + (bits >> 54) % CATEGORIES
    item, text = f"item {auction_id}", _PADDING[: bits % 100]
    return auction_id, item, text, initial, 2 * initial, time, expires, seller + FIRST_PERSON_ID, category, _PADDING


def _bid(number, bits):
    """Return (auction, bidder, price, channel, url, time, extra)."""
    auction = _last_auction(number) // _HOT * _HOT if bits & 1 else _any_auction(number, bits >> 3 & 0xFFFF)
    bidder = _last_person(number) // _HOT * _HOT + 1 if bits & 6 else _any_person(number, bits >> 19 & 0xFFFF)
    channel = CHANNELS[bits >> 62]
    url = f"https://example.com/{channel}/item?id={auction}"
    price = _price(bits >> 35 & 0xFFFFF)
    return (
        auction + FIRST_AUCTION_ID,
        bidder + FIRST_PERSON_ID,
        price,
        channel,
        url,
        time_of(number),
        _PADDING[: bits & 31],
    )


def time_of(number):
    """Return the event time in ms."""
    return number * 1000 // EVENTS_PER_S


class Events:
    """Generates events `(kind, time, fields)`.

    Args:
        seed: The same seed generates the same events.
    """

    def __init__(self, seed: int = 42) -> None:
        self._seed = seed * 0x632BE59BD9B4E019 & _MASK

    def __call__(self, number):
        offset = number % _PER_EPOCH
        bits = _bits(self._seed, number)
        if offset >= _PERSONS + _AUCTIONS:
            return BID, time_of(number), _bid(number, bits)
        if offset >= _PERSONS:
            return AUCTION, time_of(number), _auction(number, bits)
        return PERSON, time_of(number), _person(number, bits)
