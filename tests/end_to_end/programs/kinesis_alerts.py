"""Alerts about readings of a stream of Kinesis into another stream."""

import argparse
import json

from pyflink.common import Types
from pyflink.common.serialization import SimpleStringSchema
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kinesis import FlinkKinesisConsumer, KinesisStreamsSink, PartitionKeyGenerator

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint")
    args = parser.parse_args()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    consumer = {
        "aws.region": "us-east-1",
        "aws.endpoint": args.endpoint,
        "flink.stream.initpos": "TRIM_HORIZON",
    }
    readings = env.add_source(FlinkKinesisConsumer("readings", SimpleStringSchema(), consumer)).map(json.loads)
    alerts = readings.filter(lambda reading: reading["value"] > 30).map(json.dumps, Types.STRING())
    sink = (
        KinesisStreamsSink.builder()
        .set_kinesis_client_properties({"aws.region": "us-east-1", "aws.endpoint": args.endpoint})
        .set_serialization_schema(SimpleStringSchema())
        .set_partition_key_generator(PartitionKeyGenerator.fixed())
        .set_stream_name("alerts")
        .build()
    )
    alerts.sink_to(sink)
    env.execute("alerts")
