"""A reduce function with state of its own, over all kinds of callables, on a union of keyed streams."""

from functools import partial

from firesteel.common import Types
from firesteel.datastream.functions import KeySelector, ReduceFunction
from firesteel.datastream.state import MapStateDescriptor

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
BATCH = ["(a,6,2)", "(b,30,1)", "(c,100,0)"]
STREAMING = ["(a,2,0)", "(a,4,1)", "(b,15,0)", "(a,6,2)", "(b,30,1)", "(c,100,0)"]


class ByName(KeySelector):
    def get_key(self, value):
        return value[0]


class Adder:
    def __init__(self, number):
        self.number = number

    def __call__(self, value):
        return (value[0], value[1] + self.number)

    def undo(self, value):
        return (value[0], value[1] - self.number)

    @staticmethod
    def with_count(value):
        return (*value, 0)


def repeated(times, value):
    for _ in range(times):
        yield value


class CountingSum(ReduceFunction):
    """Adds the numbers; the third field says how often the key was reduced before."""

    def open(self, runtime_context):
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.INT()))

    def reduce(self, value, other):
        self.seen.put_all([("calls", (self.seen.get("calls") or 0) + 1)])
        return (value[0], value[1] + other[1], self.seen.get("calls"))


def build(env):
    adder = Adder(5)
    small = env.from_collection([("a", 2), ("a", 2), ("a", 2)], type_info=PAIR).map(adder, PAIR).map(adder.undo, PAIR)
    large = env.from_collection([("b", 15), ("b", 15), ("c", 100)], type_info=PAIR).flat_map(partial(repeated, 1), PAIR)
    together = small.key_by(ByName(), Types.STRING()).union(large.key_by(ByName(), Types.STRING()))
    counted = together.map(Adder.with_count, Types.TUPLE([Types.STRING(), Types.INT(), Types.INT()]))
    counted.key_by(ByName()).reduce(CountingSum()).print()
