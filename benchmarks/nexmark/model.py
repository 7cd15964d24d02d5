"""Results of the queries in plain Python over all events: for tests, and for the expected number of results.

Queries 4 and 6 update their results whenever an auction ends. The order of auctions that end at the same time is open,
so `final` keeps the last result of each key.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from nexmark import queries
from nexmark.generator import AUCTION, BID, PERSON, Events


class Site:
    """The events up to a number, by kind."""

    def __init__(self, count: int, seed: int = 42) -> None:
        self.events = list(map(Events(seed), range(count)))
        self.persons = [fields for kind, _, fields in self.events if kind == PERSON]
        self.auctions = [fields for kind, _, fields in self.events if kind == AUCTION]
        self.bids = [fields for kind, _, fields in self.events if kind == BID]


def q0(site):
    return site.events


def q1(site):
    return [(b[0], b[1], queries.DOLLAR_TO_EURO * b[2], b[5], b[6]) for b in site.bids]


def q2(site):
    return [(b[0], b[2]) for b in site.bids if b[0] % queries.EVERY_AUCTION == 0]


def q3(site):
    sellers = {p[0]: (p[1], p[4], p[5]) for p in site.persons if p[5] in queries.LOCAL_STATES}
    items = [(a[7], a[0]) for a in site.auctions if a[8] == queries.LOCAL_CATEGORY]
    return [(*sellers[seller], auction) for seller, auction in items if seller in sellers]


def winning_bids(site):
    """Return (end, auction, category, seller, price) in the order of the ends."""
    bids = defaultdict(list)
    for bid in site.bids:
        bids[bid[0]].append((bid[5], bid[2]))
    won = []
    for auction in site.auctions:
        prices = [price for time, price in bids[auction[0]] if auction[5] <= time <= auction[6]]
        if prices:
            won.append((auction[6], auction[0], auction[8], auction[7], max(prices)))
    return sorted(won)


def q4(site):
    results, prices = [], defaultdict(list)
    for _, _, category, _, price in winning_bids(site):
        prices[category].append(price)
        results.append((category, sum(prices[category]) / len(prices[category])))
    return results


def q6(site):
    results, prices = [], defaultdict(list)
    for _, _, _, seller, price in winning_bids(site):
        last = prices[seller] = [*prices[seller], price][-queries.LAST_AUCTIONS :]
        results.append((seller, sum(last) / len(last)))
    return results


def q5(site):
    counts = defaultdict(Counter)
    for bid in site.bids:
        last = bid[5] // queries.SLIDE_MS * queries.SLIDE_MS + queries.WINDOW_MS
        for end in range(last, last - queries.WINDOW_MS, -queries.SLIDE_MS):
            counts[end][bid[0]] += 1
    results = []
    for end, by_auction in counts.items():
        highest = max(by_auction.values())
        results += [(end, auction, count) for auction, count in by_auction.items() if count == highest]
    return results


def q7(site):
    highest = {}
    for bid in site.bids:
        window, offer = bid[5] // queries.WINDOW_MS, (bid[2], bid[0], bid[1], bid[5])
        highest[window] = max(highest.get(window, offer), offer)
    return list(highest.values())


def q8(site):
    sellers = {(auction[7], auction[5] // queries.WINDOW_MS) for auction in site.auctions}
    windows = [(person, person[6] // queries.WINDOW_MS) for person in site.persons]
    return [(p[0], p[1], window * queries.WINDOW_MS) for p, window in windows if (p[0], window) in sellers]


QUERIES = {"q0": q0, "q1": q1, "q2": q2, "q3": q3, "q4": q4, "q5": q5, "q6": q6, "q7": q7, "q8": q8}
CHANGING = ("q4", "q6")
"""Queries whose results replace earlier ones of the same key."""


def final(results):
    """Return the last result of each key."""
    return dict(results)
