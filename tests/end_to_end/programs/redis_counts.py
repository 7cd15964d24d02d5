"""Clicks of each user by page, as hashes in Redis."""

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
        CREATE TABLE pages (`user` STRING, page STRING, n BIGINT, PRIMARY KEY (`user`, page) NOT ENFORCED) WITH (
            'connector' = 'redis', 'host' = '127.0.0.1', 'port' = '{args.port}', 'command' = 'hset')
    """)
    t_env.execute_sql("INSERT INTO pages SELECT `user`, page, COUNT(*) FROM clicks GROUP BY `user`, page").wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port")
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
