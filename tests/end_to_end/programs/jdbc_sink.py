"""Orders of a file into PostgreSQL by the sink of the DataStream API, a later row in place of an earlier one."""

import argparse

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink


def parse(line):
    number, customer, product, amount, _ = line.split(",")
    return Row(customer, product, int(number), float(amount))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--input")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{args.input}/orders").build()
    types = Types.ROW([Types.STRING(), Types.STRING(), Types.INT(), Types.DOUBLE()])
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").map(parse, types)
    orders.add_sink(
        JdbcSink.sink(
            "INSERT INTO last_orders (customer, product, id, amount) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (customer, product) DO UPDATE SET id = EXCLUDED.id, amount = EXCLUDED.amount",
            types,
            JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
            .with_url(args.url)
            .with_driver_name("org.postgresql.Driver")
            .with_user_name("tester")
            .with_password("secret")
            .build(),
            JdbcExecutionOptions.builder()
            .with_batch_interval_ms(1000)
            .with_batch_size(200)
            .with_max_retries(5)
            .build(),
        )
    )
    env.execute("orders")
