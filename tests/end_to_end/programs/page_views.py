"""Views of each page in windows of ten minutes, from JSON files as a stream, with the best page of each window."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE clicks (
            `user` STRING, page STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '2' HOUR
        ) WITH ('connector' = 'filesystem', 'path' = '{args.input}/clicks', 'format' = 'json')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE page_views (start_time TIMESTAMP(3), page STRING, n BIGINT, users BIGINT, place BIGINT) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'csv')
    """)
    t_env.execute_sql("""
        INSERT INTO page_views
        SELECT window_start, page, n, users, place FROM (
            SELECT *, ROW_NUMBER() OVER (
                PARTITION BY window_start, window_end ORDER BY n DESC, page) AS place
            FROM (
                SELECT window_start, window_end, page, COUNT(*) AS n, COUNT(DISTINCT `user`) AS users
                FROM TABLE(TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '10' MINUTES))
                GROUP BY window_start, window_end, page
            )
        ) WHERE place <= 2
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
