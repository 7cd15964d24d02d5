"""Statistics of products that are captured by Debezium: updates and deletions change the groups."""

import argparse

from pyflink.common import RowKind
from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE products (id INT, price INT) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/changes', 'format' = 'debezium-json')
    """)
    groups = {}
    result = t_env.execute_sql("""
        SELECT price / 100 AS hundreds, COUNT(*) AS products, SUM(price) AS total, MAX(price) AS most
        FROM products GROUP BY price / 100
    """)
    with result.collect() as rows:
        for row in rows:
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                groups[row[0]] = tuple(row)
            elif row.get_row_kind() == RowKind.DELETE:
                del groups[row[0]]
    for group in sorted(groups.values()):
        print(*group)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
