"""Orders of a file, each with the customer's row that PostgreSQL has when the order is read."""

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
        CREATE TABLE customers (id STRING, name STRING, city STRING, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'jdbc', 'url' = '{args.url}', 'table-name' = 'customers', 'username' = 'tester',
            'lookup.cache' = 'PARTIAL', 'lookup.partial-cache.max-rows' = '100')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE enriched (id INT, name STRING, city STRING, amount DECIMAL(10, 2)) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'json')
    """)
    t_env.execute_sql("""
        INSERT INTO enriched
        SELECT o.id, c.name, c.city, o.amount
        FROM orders AS o LEFT JOIN customers FOR SYSTEM_TIME AS OF o.proc_time AS c ON o.customer = c.id
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
