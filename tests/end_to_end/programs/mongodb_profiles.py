"""Profiles of users as documents of MongoDB, which a second query reads and filters."""

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
        CREATE TABLE profiles (
            _id STRING, clicks BIGINT, last_seen TIMESTAMP_LTZ(3), pages ROW<shop BIGINT, cart BIGINT>,
            PRIMARY KEY (_id) NOT ENFORCED
        ) WITH ('connector' = 'mongodb', 'uri' = '{args.uri}', 'database' = 'web', 'collection' = 'profiles')
    """)
    t_env.execute_sql("""
        INSERT INTO profiles
        SELECT `user`, COUNT(*), CAST(MAX(ts) AS TIMESTAMP_LTZ(3)),
            ROW(COUNT(*) FILTER (WHERE page = '/shop'), COUNT(*) FILTER (WHERE page = '/cart'))
        FROM clicks GROUP BY `user`
    """).wait()
    t_env.execute_sql(
        "SELECT _id, clicks, pages.shop AS shop, pages.cart AS cart FROM profiles WHERE _id <> 'u3'"
    ).print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--uri")
    parser.add_argument("--input")
    main(parser.parse_args())
