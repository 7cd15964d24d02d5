"""Running total and mean of the last three orders of each customer, by OVER windows in event time."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE orders (
            id INT, customer STRING, product STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3),
            WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
        ) WITH ('connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE totals (id INT, customer STRING, total DECIMAL(20, 2), largest DECIMAL(10, 2), recent BIGINT) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'csv')
    """)
    table = t_env.sql_query("""
        SELECT id, customer, SUM(amount) OVER w, MAX(amount) OVER w,
            COUNT(*) OVER w
        FROM orders
        WINDOW w AS (PARTITION BY customer ORDER BY ts RANGE BETWEEN INTERVAL '10' MINUTE PRECEDING AND CURRENT ROW)
    """)
    table.execute_insert("totals").wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
