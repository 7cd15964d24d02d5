"""Orders of a file as Avro messages in a topic, which a second job reads again."""

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
        CREATE TABLE messages (
            id INT NOT NULL, customer STRING, product STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3)
        ) WITH (
            'connector' = 'kafka', 'topic' = 'avro_orders', 'properties.bootstrap.servers' = '{args.servers}',
            'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'avro', 'properties.batch.size' = '1')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE copies (id INT, customer STRING, product STRING, amount DECIMAL(10, 2), ts TIMESTAMP(3)) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'csv', 'csv.disable-quote-character' = 'true')
    """)
    t_env.execute_sql("INSERT INTO messages SELECT * FROM orders").wait()
    t_env.execute_sql("INSERT INTO copies SELECT * FROM messages").wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers")
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
