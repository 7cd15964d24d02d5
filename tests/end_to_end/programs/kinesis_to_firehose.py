"""Records of a stream of Kinesis to a delivery stream of Firehose."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    at = f"'aws.region' = 'us-east-1', 'aws.endpoint' = '{args.endpoint}', 'format' = 'json'"
    t_env.execute_sql(f"""
        CREATE TABLE clicks (`user` STRING, page STRING, ts STRING) WITH (
            'connector' = 'kinesis', 'stream' = 'clicks',
            'source.init.position' = 'TRIM_HORIZON', {at})
    """)
    t_env.execute_sql(f"""
        CREATE TABLE delivered (`user` STRING, paid STRING) WITH (
            'connector' = 'firehose', 'delivery-stream' = 'paid', {at})
    """)
    t_env.execute_sql("INSERT INTO delivered SELECT `user`, ts FROM clicks WHERE page = '/pay'").wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--endpoint")
    main(parser.parse_args())
