"""Orders declared in SQL, their customers' totals by a keyed function of the DataStream API."""

import argparse

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import MapStateDescriptor
from pyflink.table import StreamTableEnvironment


class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        self.totals = runtime_context.get_map_state(MapStateDescriptor("totals", Types.STRING(), Types.LONG()))

    def process_element(self, value, ctx):
        product = value["product"]
        cents = round(value["amount"] * 100)
        self.totals.put(product, (self.totals.get(product) or 0) + cents)
        yield f"{value['id']} {ctx.get_current_key()} {product} {self.totals.get(product)} {value['ts']:%H:%M}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    t_env = StreamTableEnvironment.create(env)
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DOUBLE, ts TIMESTAMP(3)) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    rows = t_env.to_data_stream(t_env.sql_query("SELECT * FROM orders WHERE amount > 30"))
    rows.key_by(lambda row: row["customer"]).process(Totals(), Types.STRING()).print()
    env.execute("totals")
