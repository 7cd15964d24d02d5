"""Orders of PostgreSQL joined with customers of MariaDB, into a table of MariaDB."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DECIMAL(10, 2)) WITH (
            'connector' = 'jdbc', 'url' = '{args.postgres}', 'table-name' = 'orders', 'username' = 'tester')
    """)
    mariadb = f"'connector' = 'jdbc', 'url' = '{args.mariadb}', 'username' = 'tester', 'password' = 'se&cret'"
    t_env.execute_sql(f"""
        CREATE TABLE customers (id STRING, name STRING, city STRING) WITH ({mariadb}, 'table-name' = 'customers')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE cities (city STRING, orders BIGINT, most DECIMAL(10, 2), PRIMARY KEY (city) NOT ENFORCED) WITH (
            {mariadb}, 'table-name' = 'cities')
    """)
    t_env.execute_sql("""
        INSERT INTO cities
        SELECT c.city, COUNT(*), MAX(o.amount) FROM orders AS o JOIN customers AS c ON o.customer = c.id GROUP BY c.city
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--postgres")
    parser.add_argument("--mariadb")
    main(parser.parse_args())
