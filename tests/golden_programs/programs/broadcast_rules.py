"""Rules reach every subtask; elements that came before their rule wait for it."""

from firesteel.common import Types
from firesteel.datastream.functions import KeyedBroadcastProcessFunction
from firesteel.datastream.state import MapStateDescriptor

ELEMENTS = [("a", 1), ("b", 2), ("c", 3), ("a", 4)]
RULES = [("a", 10), ("b", 100), ("c", 1000)]
BOTH = ["a: 10", "a: 40", "b: 200", "c: 3000"]
FACTORS = MapStateDescriptor("factors", Types.STRING(), Types.INT())


class Multiply(KeyedBroadcastProcessFunction):
    def open(self, runtime_context):
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting", Types.INT(), Types.INT()))

    def process_element(self, value, ctx):
        self.waiting.put(value[1], value[1])
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(FACTORS).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        factor = ctx.get_broadcast_state(FACTORS).get(ctx.get_current_key())
        for value in self.waiting.keys():  # noqa: SIM118 - a state is no dict
            yield f"{ctx.get_current_key()}: {value * factor}"


def build(env):
    elements = env.from_collection(ELEMENTS, Types.TUPLE([Types.STRING(), Types.INT()]))
    rules = env.from_collection(RULES, Types.TUPLE([Types.STRING(), Types.INT()])).broadcast(FACTORS)
    elements.key_by(lambda t: t[0], Types.STRING()).connect(rules).process(Multiply(), Types.STRING()).print()
