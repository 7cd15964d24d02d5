"""Keeps the number and the sum of each customer's orders, from a table of MySQL or MariaDB and its changes.

    firesteel run examples/mysql_cdc.py --port 3306 --database shop --user app --password secret

The server writes its log with `binlog_format = ROW`, and has two tables:

    CREATE TABLE orders (id BIGINT PRIMARY KEY, customer INT, amount DECIMAL(10, 2));
    CREATE TABLE totals (customer INT PRIMARY KEY, orders BIGINT, amount DECIMAL(38, 2));
"""

import argparse

from firesteel.table import EnvironmentSettings, TableEnvironment


def capture(table_env, server):
    table_env.execute_sql(f"""
        CREATE TABLE orders (id BIGINT, customer INT, amount DECIMAL(10, 2), PRIMARY KEY (id) NOT ENFORCED) WITH (
          'connector' = 'mysql-cdc', 'hostname' = '{server.host}', 'port' = '{server.port}',
          'username' = '{server.user}', 'password' = '{server.password}', 'database-name' = '{server.database}',
          'table-name' = 'orders', 'scan.incremental.snapshot.chunk.size' = '{server.chunk}'
        )
    """)


def keep_totals(table_env, server):
    table_env.execute_sql(f"""
        CREATE TABLE totals (customer INT, orders BIGINT, amount DECIMAL(38, 2), PRIMARY KEY (customer) NOT ENFORCED)
        WITH (
          'connector' = 'jdbc', 'url' = 'jdbc:mysql://{server.host}:{server.port}/{server.database}',
          'username' = '{server.user}', 'password' = '{server.password}', 'table-name' = 'totals'
        )
    """)
    return table_env.execute_sql(
        "INSERT INTO totals SELECT customer, COUNT(*), SUM(amount) FROM orders GROUP BY customer"
    )


def main():
    parser = argparse.ArgumentParser(description="Keep totals of a table of MySQL or MariaDB.")
    parser.add_argument("--host", default="localhost")
    parser.add_argument("--port", type=int, default=3306)
    parser.add_argument("--database", default="test")
    parser.add_argument("--user", required=True)
    parser.add_argument("--password", required=True)
    parser.add_argument("--chunk", type=int, default=8096, help="rows of a chunk of the snapshot")
    server = parser.parse_args()

    table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    capture(table_env, server)
    keep_totals(table_env, server).wait()


if __name__ == "__main__":
    main()
