"""Revenue of each city and product: a join of two CSV files, written as partitions of JSON files."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.new_instance().in_batch_mode().build())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3)) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE customers (id STRING, name STRING, city STRING) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/customers', 'format' = 'csv')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE revenue (product STRING, orders BIGINT, amount DECIMAL(20, 2), average DECIMAL(20, 6), city STRING)
        PARTITIONED BY (city)
        WITH ('connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'json')
    """)
    t_env.execute_sql("""
        INSERT INTO revenue
        SELECT o.product, COUNT(*), SUM(o.amount), AVG(o.amount), COALESCE(c.city, 'unknown')
        FROM orders AS o LEFT JOIN customers AS c ON o.customer = c.id
        GROUP BY o.product, COALESCE(c.city, 'unknown')
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
