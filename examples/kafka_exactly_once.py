"""Keeps the balance of each account: reads payments from a Kafka topic and writes balances to another, exactly once.

    firesteel run examples/kafka_exactly_once.py --bootstrap-servers localhost:9092 --payments in --balances out

A payment is a line such as `anna 12.50`. You may kill any process of the job, or the broker: a reader of the balances
with `isolation.level=read_committed` sees each of them once. `make demo-kafka` runs the example with its own broker.
"""

import argparse

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.datastream.state import ValueStateDescriptor


class Balance(KeyedProcessFunction):
    """Adds up the payments of an account."""

    def open(self, runtime_context):
        self.cents = runtime_context.get_state(ValueStateDescriptor("cents", Types.LONG()))

    def process_element(self, payment, ctx):
        account, amount = payment.split()
        cents = (self.cents.value() or 0) + round(100 * float(amount))
        self.cents.update(cents)
        yield f"{account} {cents / 100:.2f}"


def main():
    parser = argparse.ArgumentParser(description="Keep the balance of each account, exactly once.")
    parser.add_argument("--bootstrap-servers", required=True, help="host:port of some brokers, separated by commas")
    parser.add_argument("--payments", required=True, help="the topic with the payments")
    parser.add_argument("--balances", required=True, help="the topic for the balances")
    parser.add_argument("--bounded", action="store_true", help="stop at the end that the topic has when the job starts")
    options = parser.parse_args()

    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(options.bootstrap_servers)
        .set_topics(options.payments)
        .set_group_id("kafka-exactly-once")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema())
    )
    if options.bounded:
        source.set_bounded(KafkaOffsetsInitializer.latest())
    records = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(options.balances)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(options.bootstrap_servers)
        .set_record_serializer(records)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix("kafka-exactly-once")
        .build()
    )

    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(1000)
    payments = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "payments")
    payments.key_by(lambda payment: payment.split()[0]).process(Balance(), Types.STRING()).sink_to(sink)
    env.execute("kafka exactly once")


if __name__ == "__main__":
    main()
