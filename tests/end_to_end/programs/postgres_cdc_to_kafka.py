"""A table of PostgreSQL and its changes, by captured rows into a compacted topic."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE products (id INT, price INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'postgres-cdc', 'hostname' = '{args.host}', 'port' = '{args.port}', 'username' = 'tester',
            'password' = 'secret', 'database-name' = 'postgres', 'schema-name' = 'public', 'table-name' = 'products',
            'slot.name' = 'to_kafka', 'decoding.plugin.name' = 'pgoutput')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE topic (id INT, price INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'upsert-kafka', 'topic' = 'products', 'properties.bootstrap.servers' = '{args.servers}',
            'key.format' = 'json', 'value.format' = 'json')
    """)
    t_env.execute_sql("INSERT INTO topic SELECT * FROM products WHERE price > 10").wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port")
    parser.add_argument("--servers")
    main(parser.parse_args())
