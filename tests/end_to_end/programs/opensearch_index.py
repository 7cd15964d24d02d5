"""Counts of pages and days as documents of an index."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE clicks (`user` STRING, page STRING, ts TIMESTAMP(3)) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/clicks', 'format' = 'json')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE pages (page STRING, seen DATE, n BIGINT, users BIGINT, PRIMARY KEY (page, seen) NOT ENFORCED) WITH (
            'connector' = 'opensearch', 'hosts' = '{args.host}', 'index' = 'pages', 'document-id.key-delimiter' = '@')
    """)
    t_env.execute_sql("""
        INSERT INTO pages SELECT page, CAST(ts AS DATE), COUNT(*), COUNT(DISTINCT `user`) FROM clicks
        GROUP BY page, CAST(ts AS DATE)
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--input")
    main(parser.parse_args())
