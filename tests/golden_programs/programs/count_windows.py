"""Count windows emit what is full; a global window fires by its trigger, and keeps or loses its elements."""

from firesteel.common import Types
from firesteel.datastream.window import CountTrigger, GlobalWindows, PurgingTrigger

ELEMENTS = [("a", 1), ("a", 2), ("b", 10), ("a", 3), ("a", 4), ("b", 20), ("a", 5)]
BOTH = [
    "count> (a,3)", "count> (a,7)", "count> (b,30)",
    "keep> (a,3)", "keep> (a,10)", "keep> (b,30)",
    "purge> (a,3)", "purge> (a,7)", "purge> (b,30)",
]  # fmt: skip


def build(env):
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    keyed = env.from_collection(ELEMENTS, pair).key_by(lambda t: t[0], Types.STRING())

    def add(a, b):
        return a[0], a[1] + b[1]

    keyed.count_window(2).reduce(add).print("count").set_parallelism(1)
    two = CountTrigger.of(2)
    keyed.window(GlobalWindows.create()).trigger(two).reduce(add).print("keep").set_parallelism(1)
    purging = PurgingTrigger.of(two)
    keyed.window(GlobalWindows.create()).trigger(purging).reduce(add).print("purge").set_parallelism(1)
