"""The last order of each customer in a compacted topic; customers with small last orders disappear."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE orders (
            id INT, customer STRING, amount DOUBLE, `partition` INT METADATA VIRTUAL, `offset` BIGINT METADATA VIRTUAL
        ) WITH (
            'connector' = 'kafka', 'topic' = 'last_in', 'properties.bootstrap.servers' = '{args.servers}',
            'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE last_orders (customer STRING, id INT, amount DOUBLE, PRIMARY KEY (customer) NOT ENFORCED) WITH (
            'connector' = 'upsert-kafka', 'topic' = 'last_orders', 'properties.bootstrap.servers' = '{args.servers}',
            'key.format' = 'json', 'value.format' = 'json')
    """)
    t_env.execute_sql("""
        INSERT INTO last_orders
        SELECT customer, id, amount FROM (
            SELECT customer, LAST_VALUE(id) AS id, LAST_VALUE(amount) AS amount FROM orders GROUP BY customer
        ) WHERE amount >= 20
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers")
    main(parser.parse_args())
