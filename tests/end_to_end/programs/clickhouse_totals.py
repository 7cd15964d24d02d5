"""Totals of products in a table of ClickHouse, which a second query reads."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3)) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE totals (product STRING, n BIGINT, cents BIGINT, PRIMARY KEY (product) NOT ENFORCED) WITH (
            'connector' = 'clickhouse', 'url' = '{args.url}', 'table-name' = 'totals', 'username' = 'tester',
            'password' = 'secret', 'sink.update-strategy' = 'insert', 'sink.batch-size' = '3')
    """)
    t_env.execute_sql("""
        INSERT INTO totals SELECT product, COUNT(*), CAST(SUM(amount) * 100 AS BIGINT) FROM orders GROUP BY product
    """).wait()
    t_env.execute_sql("SELECT product, n, cents FROM totals WHERE n > 40").print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--input")
    main(parser.parse_args())
