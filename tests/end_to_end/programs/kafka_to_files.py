"""Orders of a Kafka topic as Parquet files, in partitions that are marked when they are complete."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE orders (
            id INT, customer STRING, amount DOUBLE, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
        ) WITH (
            'connector' = 'kafka', 'topic' = 'to_files', 'properties.bootstrap.servers' = '{args.servers}',
            'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE archive (id INT, amount DOUBLE, customer STRING, at_hour STRING) PARTITIONED BY (at_hour) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'parquet',
            'sink.partition-commit.trigger' = 'process-time', 'sink.partition-commit.policy.kind' = 'success-file')
    """)
    t_env.execute_sql("INSERT INTO archive SELECT id, amount, customer, DATE_FORMAT(ts, 'HH') FROM orders").wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers")
    parser.add_argument("--output")
    main(parser.parse_args())
