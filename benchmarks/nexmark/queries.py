"""Queries q0 to q8 as DataStream programs: functions from a stream of events to a stream of results."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import KeyedCoProcessFunction, KeyedProcessFunction
from pyflink.datastream.functions import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

from nexmark.streams import NUMBER, TEXT, auctions, bids, persons

DOLLAR_TO_EURO = 0.908
EVERY_AUCTION = 123
LOCAL_STATES = ("OR", "ID", "CA")
LOCAL_CATEGORY = 10
WINDOW_MS = 10_000
SLIDE_MS = 2_000
LAST_AUCTIONS = 10


def numbers(count):
    """Return a new type each time, because PyFlink cannot ship its types with functions once they were used."""
    return Types.TUPLE([Types.LONG()] * count)


def first(value):
    return value[0]


# --- without exchange ----------------------------------------------------------------------------------------------


def q0(events):
    """Pass through: all events."""
    return events.map(lambda event: event)


def in_euros(bid):
    return bid[0], bid[1], DOLLAR_TO_EURO * bid[2], bid[5], bid[6]


def q1(events):
    """Currency conversion: (auction, bidder, price in euros, time, extra) of each bid."""
    return bids(events).map(in_euros, Types.TUPLE([NUMBER, NUMBER, Types.DOUBLE(), NUMBER, TEXT]))


def q2(events):
    """Selection: (auction, price) of bids on some auctions."""
    chosen = bids(events).filter(lambda bid: bid[0] % EVERY_AUCTION == 0)
    return chosen.map(lambda bid: (bid[0], bid[2]), numbers(2))


# --- joins without windows -----------------------------------------------------------------------------------------


class LocalItems(KeyedCoProcessFunction):
    """Joins auctions with their seller; auctions wait for the person."""

    def open(self, runtime_context):
        person_type = Types.TUPLE([Types.STRING()] * 3)
        self.person = runtime_context.get_state(ValueStateDescriptor("person", person_type))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.LONG()))

    def process_element1(self, value, ctx):
        _, name, city, state = value
        self.person.update((name, city, state))
        for auction in self.waiting.get():
            yield name, city, state, auction
        self.waiting.clear()

    def process_element2(self, value, ctx):
        _, auction = value
        person = self.person.value()
        if person is None:
            self.waiting.add(auction)
        else:
            yield *person, auction


def q3(events):
    """Local item suggestion: (name, city, state, auction) of auctions of one category by sellers of some states."""
    sellers = persons(events).filter(lambda person: person[5] in LOCAL_STATES)
    sellers = sellers.map(lambda p: (p[0], p[1], p[4], p[5]), Types.TUPLE([NUMBER, TEXT, TEXT, TEXT]))
    items = auctions(events).filter(lambda auction: auction[8] == LOCAL_CATEGORY)
    items = items.map(lambda auction: (auction[7], auction[0]), numbers(2))
    joined = sellers.key_by(first, NUMBER).connect(items.key_by(first, NUMBER))
    return joined.process(LocalItems(), Types.TUPLE([TEXT, TEXT, TEXT, NUMBER]))


class WinningBid(KeyedCoProcessFunction):
    """Emits the highest price of the bids between an auction's start and end, when it ends."""

    def open(self, runtime_context):
        self.auction = runtime_context.get_state(ValueStateDescriptor("auction", numbers(4)))
        self.highest = runtime_context.get_state(ValueStateDescriptor("highest", Types.LONG()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("bids before the auction", numbers(2)))

    def process_element1(self, value, ctx):
        _, _, time, expires, _ = value
        self.auction.update(value[1:])
        prices = [price for price, bid_time in self.waiting.get() if time <= bid_time <= expires]
        if prices:
            self.highest.update(max(prices))
        self.waiting.clear()
        ctx.timer_service().register_event_time_timer(expires)

    def process_element2(self, value, ctx):
        _, price, bid_time = value
        auction = self.auction.value()
        if auction is None:
            self.waiting.add((price, bid_time))
        elif auction[1] <= bid_time <= auction[2]:
            highest = self.highest.value()
            if highest is None or price > highest:
                self.highest.update(price)

    def on_timer(self, timestamp, ctx):
        category, _, expires, seller = self.auction.value()
        price = self.highest.value()
        self.highest.clear()
        if price is not None:
            yield ctx.get_current_key(), category, seller, price, expires


def winning_bids(events):
    """(auction, category, seller, price, end) of each auction with bids."""
    items = auctions(events).map(lambda a: (a[0], a[8], a[5], a[6], a[7]), numbers(5))
    offers = bids(events).map(lambda bid: (bid[0], bid[2], bid[5]), numbers(3))
    return items.key_by(first, NUMBER).connect(offers.key_by(first, NUMBER)).process(WinningBid(), numbers(5))


class RunningAverage(KeyedProcessFunction):
    def open(self, runtime_context):
        self.figures = runtime_context.get_state(ValueStateDescriptor("count and sum", numbers(2)))

    def process_element(self, value, ctx):
        count, total = self.figures.value() or (0, 0)
        count, total = count + 1, total + value[3]
        self.figures.update((count, total))
        yield value[1], total / count


def q4(events):
    """Average price for a category: (category, average so far) with each auction that ends."""
    by_category = winning_bids(events).key_by(lambda won: won[1], NUMBER)
    return by_category.process(RunningAverage(), Types.TUPLE([NUMBER, Types.DOUBLE()]))


class LastAverage(KeyedProcessFunction):
    """Averages the auctions that end last, even if they arrive in another order."""

    def open(self, runtime_context):
        self.last = runtime_context.get_list_state(ListStateDescriptor("last auctions", numbers(3)))

    def process_element(self, value, ctx):
        auction, _, seller, price, expires = value
        last = sorted([*self.last.get(), (expires, auction, price)])[-LAST_AUCTIONS:]
        self.last.update(last)
        yield seller, sum(entry[2] for entry in last) / len(last)


def q6(events):
    """Average selling price by seller: (seller, average of the last ten auctions) with each auction that ends."""
    by_seller = winning_bids(events).key_by(lambda won: won[2], NUMBER)
    return by_seller.process(LastAverage(), Types.TUPLE([NUMBER, Types.DOUBLE()]))


# --- windows -------------------------------------------------------------------------------------------------------


class Count(AggregateFunction):
    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, a, b):
        return a + b


class CountOfWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        for count in elements:
            yield context.window().end, key, count


class Hottest(ProcessWindowFunction):
    def process(self, key, context, elements):
        counts = list(elements)
        highest = max(count for _, _, count in counts)
        return [entry for entry in counts if entry[2] == highest]


def q5(events):
    """Hot items: (end of window, auction, count) of the auctions with the most bids in sliding windows."""
    by_auction = bids(events).map(lambda bid: (bid[0],), numbers(1)).key_by(first, NUMBER)
    windows = SlidingEventTimeWindows.of(Time.milliseconds(WINDOW_MS), Time.milliseconds(SLIDE_MS))
    counts = by_auction.window(windows).aggregate(Count(), CountOfWindow(), Types.LONG(), numbers(3))
    of_one_end = TumblingEventTimeWindows.of(Time.milliseconds(SLIDE_MS))
    return counts.key_by(first, NUMBER).window(of_one_end).process(Hottest(), numbers(3))


def q7(events):
    """Highest bid: (price, auction, bidder, time) of each tumbling window, found by auction first."""
    offers = bids(events).map(lambda bid: (bid[2], bid[0], bid[1], bid[5]), numbers(4))
    by_auction = offers.key_by(lambda offer: offer[1], NUMBER).window(_tumbling()).reduce(max)
    return by_auction.window_all(_tumbling()).reduce(max)


class NewSellers(ProcessWindowFunction):
    def process(self, key, context, elements):
        sides = list(elements)
        if any(name is None for _, name in sides):
            for _, name in sides:
                if name is not None:
                    yield key, name, context.window().start


def q8(events):
    """Monitor new users: (person, name, start of window) of who registered and opened an auction in one window."""
    side = Types.TUPLE([NUMBER, TEXT])
    new = persons(events).map(lambda person: (person[0], person[1]), side)
    sellers = auctions(events).map(lambda auction: (auction[7], None), side)
    by_person = new.union(sellers).key_by(first, NUMBER).window(_tumbling())
    return by_person.process(NewSellers(), Types.TUPLE([NUMBER, TEXT, NUMBER]))


def _tumbling():
    return TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))


QUERIES = {"q0": q0, "q1": q1, "q2": q2, "q3": q3, "q4": q4, "q5": q5, "q6": q6, "q7": q7, "q8": q8}
