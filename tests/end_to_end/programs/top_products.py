"""The three largest orders of each product, and each product's share, printed as a table."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DOUBLE, ts STRING) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql("""
        SELECT product, place, id, amount FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY product ORDER BY amount DESC, id) AS place FROM orders
        ) WHERE place <= 3 ORDER BY product, place
    """).print()
    t_env.execute_sql("""
        SELECT product, COUNT(DISTINCT customer) AS customers, MIN(ts) AS first_order,
            CAST(ROUND(SUM(amount) * 100 / (SELECT SUM(amount) FROM orders), 2) AS DECIMAL(5, 2)) AS share
        FROM orders GROUP BY product HAVING COUNT(*) > 3 ORDER BY share DESC
    """).print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
