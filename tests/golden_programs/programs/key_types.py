"""Keys of any type find their state; what has no declared type is compared as a Python value."""

from firesteel.common import Row, Types
from firesteel.datastream.functions import KeyedProcessFunction, MapFunction
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor

ELEMENTS = ["x", "yy", "x", "zzz", "yy", "x"]
BOTH = [f"{kind}> {text}" for kind in ("str", "int", "tuple", "none", "row", "untyped") for text in (
    ["6"] if kind == "none" else ["3", "2", "1"]
)] + [f"lambda> {text}" for text in ("x1", "x2", "x3", "yy1", "yy2", "zzz1")]  # fmt: skip


class CountAtEnd(KeyedProcessFunction):
    def open(self, runtime_context):
        self.seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.INT()))

    def process_element(self, value, ctx):
        self.seen.put(value, (self.seen.get(value) or 0) + 1)
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    def on_timer(self, timestamp, ctx):
        yield str(sum(count for _, count in self.seen.items()))


class Number(MapFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.PICKLED_BYTE_ARRAY()))

    def map(self, value):
        count = self.count.value() or []
        count.append(value)
        self.count.update(count)
        return f"{value}{len(count)}"


def build(env):
    words = env.from_collection(ELEMENTS, Types.STRING())
    selectors = {
        "str": (lambda w: w, Types.STRING()),
        "int": (lambda w: len(w), Types.INT()),
        "tuple": (lambda w: (w, len(w)), Types.TUPLE([Types.STRING(), Types.INT()])),
        "none": (lambda w: None, None),
        "row": (lambda w: Row(w), Types.ROW([Types.STRING()])),
        "untyped": (lambda w: frozenset([w]), None),
    }
    for name, (select, key_type) in selectors.items():
        counts = words.key_by(select, key_type).process(CountAtEnd(), Types.STRING())
        counts.print(name).set_parallelism(1)
    words.key_by(lambda w: w).map(Number(), Types.STRING()).print("lambda").set_parallelism(1)
