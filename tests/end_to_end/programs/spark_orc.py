"""Orders by a format of Spark that Flink reads with another jar: written as ORC, and read again."""

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
        CREATE TABLE archive (id INT, amount DECIMAL(10, 2), product STRING) PARTITIONED BY (product) WITH (
            'connector' = 'spark', 'format' = 'orc', 'path' = '{args.path}')
    """)
    t_env.execute_sql("INSERT INTO archive SELECT id, amount, product FROM orders").wait()
    t_env.execute_sql("SELECT product, COUNT(*) AS n, SUM(amount) AS total FROM archive GROUP BY product").print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--path")
    parser.add_argument("--input")
    main(parser.parse_args())
