"""Groups of a captured table of MariaDB, kept in a table of PostgreSQL."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE products (id INT, price INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
            'connector' = 'mysql-cdc', 'hostname' = '{args.host}', 'port' = '{args.port}', 'username' = 'tester',
            'password' = 'se&cret', 'database-name' = 'test', 'table-name' = 'products', 'server-time-zone' = 'UTC',
            'scan.incremental.snapshot.chunk.size' = '5')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE totals (hundreds INT, n BIGINT, price BIGINT, PRIMARY KEY (hundreds) NOT ENFORCED) WITH (
            'connector' = 'jdbc', 'url' = '{args.url}', 'table-name' = 'product_totals', 'username' = 'tester')
    """)
    t_env.execute_sql("""
        INSERT INTO totals SELECT price / 100, COUNT(*), SUM(price) FROM products GROUP BY price / 100
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--host")
    parser.add_argument("--port")
    parser.add_argument("--url")
    main(parser.parse_args())
