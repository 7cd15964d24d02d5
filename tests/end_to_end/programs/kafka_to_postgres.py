"""Totals of customers from a Kafka topic, kept in a table of PostgreSQL."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, amount DECIMAL(10, 2)) WITH (
            'connector' = 'kafka', 'topic' = 'orders', 'properties.bootstrap.servers' = '{args.servers}',
            'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE totals (customer STRING, n BIGINT, amount DECIMAL(20, 2), PRIMARY KEY (customer) NOT ENFORCED) WITH (
            'connector' = 'jdbc', 'url' = '{args.url}', 'table-name' = 'customer_totals', 'username' = 'tester',
            'driver' = 'org.postgresql.Driver', 'sink.buffer-flush.max-rows' = '100')
    """)
    t_env.execute_sql("INSERT INTO totals SELECT customer, COUNT(*), SUM(amount) FROM orders GROUP BY customer").wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers")
    parser.add_argument("--url")
    main(parser.parse_args())
