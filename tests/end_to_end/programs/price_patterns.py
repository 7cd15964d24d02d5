"""Customers whose orders grow twice and then fall, by MATCH_RECOGNIZE over a stream of files."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE orders (
            id INT, customer STRING, product STRING, amount DOUBLE, ts TIMESTAMP(3),
            WATERMARK FOR ts AS ts - INTERVAL '10' SECOND
        ) WITH ('connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql(
        "CREATE TABLE peaks (customer STRING, first_id INT, top DOUBLE, last_id INT) WITH ('connector' = 'print')"
    )
    t_env.execute_sql("""
        INSERT INTO peaks
        SELECT customer, first_id, top, last_id FROM orders MATCH_RECOGNIZE (
            PARTITION BY customer ORDER BY ts
            MEASURES FIRST(a.id) AS first_id, LAST(up.amount) AS top, down.id AS last_id
            ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW
            PATTERN (a up{2,} down)
            DEFINE up AS up.amount > LAST(up.amount, 1) OR (LAST(up.amount, 1) IS NULL AND up.amount > a.amount),
                down AS down.amount < LAST(up.amount)
        )
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
