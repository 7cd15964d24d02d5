"""Limits by product on a broadcast stream; the orders wait in state until all limits are there."""

import sys

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.functions import BroadcastProcessFunction
from pyflink.datastream.state import MapStateDescriptor

LIMITS = MapStateDescriptor("limits", Types.STRING(), Types.DOUBLE())


class Limit(BroadcastProcessFunction):
    def __init__(self, expected):
        self.expected = expected
        self.waiting = []

    def process_element(self, value, ctx: BroadcastProcessFunction.ReadOnlyContext):
        self.waiting.append(value)
        state = ctx.get_broadcast_state(LIMITS)
        if sum(1 for _ in state.items()) == self.expected:
            yield from self.check(state)

    def process_broadcast_element(self, value, ctx: BroadcastProcessFunction.Context):
        state = ctx.get_broadcast_state(LIMITS)
        state.put(value[0], value[1])
        if sum(1 for _ in state.items()) == self.expected:
            yield from self.check(state)

    def check(self, state):
        limits = dict(state.items())
        for number, product, amount in self.waiting:
            if amount > limits.get(product, 1000.0):
                yield f"order {number}: {amount} for {product}"
        self.waiting = []


def parse(line):
    number, _, product, amount, _ = line.split(",")
    return int(number), product, float(amount)


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
limits = env.from_collection([("p1", 70.0), ("p2", 10.5), ("p5", 80.0)], Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[2] + "/orders").build()
orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").map(
    parse, Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()])
)
orders.connect(limits.broadcast(LIMITS)).process(Limit(3), Types.STRING()).print()
env.execute("broadcast")
