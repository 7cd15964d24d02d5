"""Large orders between topics by the consumer and the producer of PyFlink 1."""

import argparse

from pyflink.common.serialization import JsonRowDeserializationSchema, JsonRowSerializationSchema
from pyflink.common.typeinfo import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors import FlinkKafkaConsumer, FlinkKafkaProducer


def main(servers):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.add_jars("file:///opt/flink/lib/flink-sql-connector-kafka_2.11-1.13.2.jar")
    types = Types.ROW_NAMED(["id", "customer", "amount"], [Types.INT(), Types.STRING(), Types.DOUBLE()])
    consumer = FlinkKafkaConsumer(
        topics="orders_1",
        deserialization_schema=JsonRowDeserializationSchema.builder().type_info(type_info=types).build(),
        properties={"bootstrap.servers": servers, "group.id": "old"},
    )
    consumer.set_start_from_earliest()
    out = Types.ROW_NAMED(["id", "amount"], [Types.INT(), Types.DOUBLE()])
    producer = FlinkKafkaProducer(
        topic="large_1",
        serialization_schema=JsonRowSerializationSchema.builder().with_type_info(out).build(),
        producer_config={"bootstrap.servers": servers},
    )
    orders = env.add_source(consumer)
    large = orders.filter(lambda order: order["amount"] > 50)
    large.map(lambda order: (order["id"], order["amount"]), output_type=out).add_sink(producer)
    env.execute("large orders")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", default="localhost:9092")
    main(parser.parse_args().servers)
