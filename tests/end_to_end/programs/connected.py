"""Orders that meet the names of their customers on a second stream, whichever comes first."""

import argparse

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.functions import KeyedCoProcessFunction, RuntimeContext
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.STRING()))

    def process_element1(self, order, ctx):
        if self.name.value() is None:
            self.waiting.add(order[1])
        else:
            yield f"{order[1]} {self.name.value()}"

    def process_element2(self, customer, ctx):
        self.name.update(customer[1])
        for order in self.waiting.get():
            yield f"{order} {customer[1]}"
        self.waiting.clear()


def lines(env, path, name):
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    pair = Types.TUPLE([Types.STRING(), Types.STRING()])
    orders = lines(env, f"{args.input}/orders", "orders").map(lambda line: tuple(line.split(",")[1::-1]), pair)
    customers = lines(env, f"{args.input}/customers", "customers").map(lambda line: tuple(line.split(",")[:2]), pair)
    joined = orders.key_by(lambda pair: pair[0]).connect(customers.key_by(lambda pair: pair[0]))
    joined.process(Join(), Types.STRING()).print()
    env.execute("connected")
