"""A table of PostgreSQL as partitions of Parquet files in S3, which a query reads again."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3)) WITH (
            'connector' = 'jdbc', 'url' = '{args.url}', 'table-name' = 'orders', 'username' = 'tester',
            'scan.partition.column' = 'id', 'scan.partition.num' = '4', 'scan.partition.lower-bound' = '1',
            'scan.partition.upper-bound' = '300')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE archive (id INT, customer STRING, amount DECIMAL(10, 2), product STRING) PARTITIONED BY (product)
        WITH ('connector' = 'filesystem', 'path' = '{args.target}', 'format' = 'parquet')
    """)
    t_env.execute_sql("INSERT INTO archive SELECT id, customer, amount, product FROM orders WHERE amount > 10").wait()
    t_env.execute_sql("SELECT product, COUNT(*) AS n, SUM(amount) AS total FROM archive GROUP BY product").print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--url")
    parser.add_argument("--target")
    main(parser.parse_args())
