"""Balances of customers from a Kafka topic to another, with transactions."""

import argparse
import json

from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.common.serialization import SimpleStringSchema
from pyflink.datastream import CheckpointingMode, KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.state import ValueStateDescriptor


class Balance(KeyedProcessFunction):
    def open(self, runtime_context):
        self.cents = runtime_context.get_state(ValueStateDescriptor("cents", Types.LONG()))

    def process_element(self, order, ctx):
        cents = (self.cents.value() or 0) + round(100 * order["amount"])
        self.cents.update(cents)
        yield json.dumps({"customer": ctx.get_current_key(), "cents": cents, "after": order["id"]})


parser = argparse.ArgumentParser()
parser.add_argument("--servers", default="localhost:9092")
args = parser.parse_args()
env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
env.enable_checkpointing(1000, CheckpointingMode.EXACTLY_ONCE)
source = (
    KafkaSource.builder()
    .set_bootstrap_servers(args.servers)
    .set_topics("payments")
    .set_starting_offsets(KafkaOffsetsInitializer.earliest())
    .set_bounded(KafkaOffsetsInitializer.latest())
    .set_value_only_deserializer(SimpleStringSchema())
    .set_property("isolation.level", "read_committed")
    .build()
)
sink = (
    KafkaSink.builder()
    .set_bootstrap_servers(args.servers)
    .set_record_serializer(
        KafkaRecordSerializationSchema.builder()
        .set_topic("balances")
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
    .set_transactional_id_prefix("balances")
    .set_property("transaction.timeout.ms", "600000")
    .build()
)
strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(5))
payments = env.from_source(source, strategy, "payments").map(json.loads)
payments.key_by(lambda order: order["customer"], Types.STRING()).process(Balance(), Types.STRING()).sink_to(sink)
env.execute("balances")
