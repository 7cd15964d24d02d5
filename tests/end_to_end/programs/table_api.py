"""The Table API: expressions, a join, windows by `Tumble`, a union and a sink by its descriptor."""

import argparse

from pyflink.table import DataTypes, EnvironmentSettings, Schema, TableDescriptor, TableEnvironment
from pyflink.table.expressions import col, concat, if_then_else, lit
from pyflink.table.window import Tumble


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    orders = Schema.new_builder().column("id", DataTypes.INT()).column("customer", DataTypes.STRING())
    orders = orders.column("product", DataTypes.STRING()).column("amount", DataTypes.DECIMAL(10, 2))
    orders = orders.column("ts", DataTypes.TIMESTAMP(3)).build()
    files = TableDescriptor.for_connector("filesystem").schema(orders).format("csv")
    t_env.create_temporary_table("orders", files.option("path", f"{args.input}/orders").build())
    out = Schema.new_builder().column("what", DataTypes.STRING()).column("n", DataTypes.BIGINT()).build()
    out = TableDescriptor.for_connector("filesystem").schema(out).format("json").option("path", args.output)
    t_env.create_temporary_table("out", out.build())

    table = t_env.from_path("orders")
    names = t_env.from_elements([("p1", "lamp"), ("p2", "desk"), ("p3", "chair")], ["code", "name"])
    named = table.left_outer_join(names, col("product") == col("code")).select(
        concat(col("name").if_null("other"), "/", if_then_else(col("amount") > 50, lit("large"), lit("small"))).alias(
            "what"
        ),
        col("id").cast(DataTypes.BIGINT()).alias("n"),
    )
    sums = named.group_by(col("what")).select(col("what"), col("n").sum.alias("n"))
    windows = (
        table.window(Tumble.over(lit(1).hour).on(col("ts")).alias("w"))
        .group_by(col("w"))
        .select(col("w").start.cast(DataTypes.STRING()).alias("what"), col("id").count.alias("n"))
    )
    sums.union_all(windows).execute_insert("out").wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
