"""Orders of a stream joined with orders of the same customer for another product in the next two minutes."""

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
        CREATE TABLE pairs (first_id INT, second_id INT, customer STRING, total DECIMAL(12, 2), seconds BIGINT) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'json')
    """)
    t_env.execute_sql("""
        INSERT INTO pairs
        SELECT a.id, b.id, a.customer, a.amount + b.amount, TIMESTAMPDIFF(SECOND, a.ts, b.ts)
        FROM orders AS a JOIN orders AS b ON a.customer = b.customer AND a.product <> b.product
            AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '2' MINUTE AND a.id < b.id
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
