"""Orders as documents of Elasticsearch by the sink of the DataStream API."""

import argparse

from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.elasticsearch import Elasticsearch7SinkBuilder, ElasticsearchEmitter
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat


def parse(line):
    number, customer, product, amount, _ = line.split(",")
    return {"id": number, "customer": customer, "product": product, "amount": amount}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--input")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{args.input}/orders").build()
    orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders").map(
        parse, Types.MAP(Types.STRING(), Types.STRING())
    )
    sink = (
        Elasticsearch7SinkBuilder()
        .set_emitter(ElasticsearchEmitter.dynamic_index("product", "id"))
        .set_hosts([args.host])
        .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        .set_bulk_flush_max_actions(50)
        .set_bulk_flush_interval(1000)
        .build()
    )
    orders.sink_to(sink)
    env.execute("documents")
