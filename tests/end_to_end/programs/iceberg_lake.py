"""A catalog of Iceberg with a partitioned table: two appends, and a query over both."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE CATALOG lake WITH (
            'type' = 'iceberg', 'catalog-impl' = 'org.apache.iceberg.jdbc.JdbcCatalog',
            'uri' = 'jdbc:sqlite:{args.warehouse}/catalog.db', 'warehouse' = 'file://{args.warehouse}')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3)) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql("CREATE DATABASE IF NOT EXISTS lake.shop")
    t_env.execute_sql("""
        CREATE TABLE lake.shop.orders (id INT, customer STRING, amount DECIMAL(10, 2), product STRING)
        PARTITIONED BY (product) WITH ('format-version' = '2')
    """)
    for condition in ("id <= 100", "id > 100"):
        t_env.execute_sql(f"""
            INSERT INTO lake.shop.orders SELECT id, customer, amount, product FROM orders WHERE {condition}
        """).wait()
    t_env.execute_sql("""
        SELECT product, COUNT(*) AS n, SUM(amount) AS total, MIN(id) AS first_id FROM lake.shop.orders
        WHERE product IN ('p1', 'p2', 'p3') GROUP BY product
    """).print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--warehouse")
    parser.add_argument("--input")
    main(parser.parse_args())
