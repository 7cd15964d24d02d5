"""Views of pages in windows of ten minutes, from Kafka to Kafka as JSON."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE clicks (
            `user` STRING, page STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
        ) WITH (
            'connector' = 'kafka', 'topic' = 'clicks', 'properties.bootstrap.servers' = '{args.servers}',
            'properties.group.id' = 'pages', 'scan.startup.mode' = 'earliest-offset',
            'scan.bounded.mode' = 'latest-offset', 'format' = 'json', 'json.ignore-parse-errors' = 'true')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE page_counts (start_time TIMESTAMP(3), page STRING, n BIGINT, users BIGINT) WITH (
            'connector' = 'kafka', 'topic' = 'page_counts', 'properties.bootstrap.servers' = '{args.servers}',
            'key.format' = 'raw', 'key.fields' = 'page', 'value.format' = 'json',
            'value.json.timestamp-format.standard' = 'ISO-8601')
    """)
    t_env.execute_sql("""
        INSERT INTO page_counts
        SELECT window_start, page, COUNT(*), COUNT(DISTINCT `user`)
        FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' MINUTE))
        GROUP BY window_start, window_end, page
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers")
    main(parser.parse_args())
