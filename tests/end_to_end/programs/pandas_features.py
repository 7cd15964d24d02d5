"""Features of orders by functions over pandas: per row, and per group."""

import argparse

from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import udaf, udf


@udf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def scaled(amount, most):
    return (amount / most).round(4)


@udf(result_type=DataTypes.BOOLEAN(), func_type="pandas")
def is_round(amount):
    return (amount * 100).round() % 100 == 0


@udaf(result_type=DataTypes.DOUBLE(), func_type="pandas")
def spread(amount):
    return float((amount.max() - amount.min()).round(2))


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DOUBLE, ts STRING) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/orders', 'format' = 'csv')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE features (id INT, scaled DOUBLE, is_round BOOLEAN) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'csv')
    """)
    orders = t_env.from_path("orders")
    rows = orders.select(col("id"), scaled(col("amount"), 90.0), is_round(col("amount")))
    rows.execute_insert("features").wait()
    groups = orders.group_by(col("product")).select(col("product"), spread(col("amount")).alias("spread"))
    print(groups.to_pandas().sort_values("product").to_string(index=False))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
