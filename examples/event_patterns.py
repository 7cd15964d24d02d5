"""Patterns of orders, as in the documentation of event patterns; each prints its matches.

firesteel run examples/event_patterns.py
"""

from collections import namedtuple

from firesteel.cep import (
    CEP,
    AfterMatchSkipStrategy,
    IterativeCondition,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.datastream import OutputTag, StreamExecutionEnvironment

Order = namedtuple("Order", "second user name price")


class LargeOrder(Order):
    """An order that a person looks at."""


ORDERS = [
    LargeOrder(1, "ada", "foo", 3.0),
    Order(2, "ada", "foo", 1.0),
    Order(3, "ada", "bar", 9.0),
    Order(4, "ada", "foo", 0.5),
    Order(5, "ada", "end", 2.0),
    Order(6, "ada", "end", 2.0),
]


def sequence():
    """An order of 3 or more, one of another kind directly after it, and an end some time later."""
    return (
        Pattern.begin("start")
        .where(lambda order: order.price >= 3)
        .subtype(LargeOrder)
        .next("middle")
        .where(lambda order: order.price < 3)
        .followed_by("end")
        .where(lambda order: order.name == "end")
    )


class Affordable(IterativeCondition):
    """An order of foo whose price, added to those before it, stays below 5."""

    def filter(self, value, context):
        if value.name != "foo":
            return False
        earlier = context.get_events_for_pattern("middle")
        return value.price + sum(order.price for order in earlier) < 5


def affordable():
    """Cheap orders until the end, as many as there are."""
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    return (
        Pattern.begin("middle", skip)
        .where(Affordable())
        .one_or_more()
        .greedy()
        .followed_by("end")
        .where(lambda order: order.name == "end")
    )


def group():
    """Twice a foo with a bar or an end after it."""
    pair = Pattern.begin("foo").where(lambda order: order.name == "foo").followed_by("other")
    return Pattern.begin(pair.where(lambda order: order.name != "foo")).times(2)


def unanswered():
    """A foo and a bar in the next 2 seconds; the foos without one time out."""
    foo = Pattern.begin("foo").where(lambda order: order.name == "foo")
    return foo.followed_by("bar").where(lambda order: order.name == "bar").within(Duration.of_seconds(2))


TIMED_OUT = OutputTag("timed out", Types.STRING())


class Report(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Describes matches by the seconds of their orders."""

    def process_match(self, match, ctx):
        yield f"{seconds(match)} at {ctx.timestamp() // 1000}"

    def process_timed_out_match(self, match, ctx):
        yield TIMED_OUT, f"{seconds(match)} timed out at {ctx.timestamp() // 1000}"


def seconds(match):
    return " ".join(f"{name}={','.join(str(order.second) for order in orders)}" for name, orders in match.items())


def reports(env, orders):
    """Return the descriptions of the matches of all patterns."""
    by_second = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda order, _: order.second * 1000
    )
    users = (
        env.from_collection(orders)
        .assign_timestamps_and_watermarks(by_second)
        .key_by(lambda order: order.user, Types.STRING())
    )
    described = [
        CEP.pattern(users, pattern).process(Report(), Types.STRING())
        for pattern in (sequence(), affordable(), group(), unanswered())
    ]
    return described[0].union(*described[1:], described[-1].get_side_output(TIMED_OUT))


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    reports(env, ORDERS).print().set_parallelism(1)
    env.execute("event patterns")


if __name__ == "__main__":
    main()
