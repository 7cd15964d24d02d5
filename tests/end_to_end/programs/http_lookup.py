"""Orders with the name that a service has for their customer."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE orders (
            id INT, customer STRING, product STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3), proc_time AS PROCTIME()
        ) WITH ('connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE customers (id STRING, name STRING) WITH (
            'connector' = 'rest-lookup', 'url' = '{args.url}', 'format' = 'json',
            'gid.connector.http.source.lookup.ignored-response-codes' = '404', 'lookup.cache' = 'PARTIAL',
            'lookup.partial-cache.max-rows' = '50', 'lookup.partial-cache.expire-after-write' = '1 h')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE named (id INT, name STRING) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'csv', 'csv.null-literal' = 'nobody')
    """)
    t_env.execute_sql("""
        INSERT INTO named SELECT o.id, c.name
        FROM orders AS o LEFT JOIN customers FOR SYSTEM_TIME AS OF o.proc_time AS c ON o.customer = c.id
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
