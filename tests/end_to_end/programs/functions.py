"""Scalar, table and aggregate functions in Python over orders, by SQL and the Table API."""

import argparse

from pyflink.common import Row
from pyflink.table import AggregateFunction, DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.expressions import col
from pyflink.table.udf import ScalarFunction, udaf, udf, udtf


class Discount(ScalarFunction):
    def open(self, function_context):
        self.percent = {"p1": 10, "p2": 5}

    def eval(self, product, amount):
        return round(amount * (100 - self.percent.get(product, 0)) / 100, 2)


@udf(result_type=DataTypes.ROW([DataTypes.FIELD("day", DataTypes.STRING()), DataTypes.FIELD("hour", DataTypes.INT())]))
def parts(ts):
    day, time = ts.split(" ")
    return Row(day, int(time.split(":")[0]))


@udtf(result_types=[DataTypes.STRING(), DataTypes.INT()])
def letters(text, times):
    for index in range(times % 3):
        yield text[0], index


class WeightedMean(AggregateFunction):
    def create_accumulator(self):
        return Row(0.0, 0)

    def get_value(self, accumulator):
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def get_result_type(self):
        return DataTypes.DOUBLE()

    def get_accumulator_type(self):
        return DataTypes.ROW([DataTypes.FIELD("f0", DataTypes.DOUBLE()), DataTypes.FIELD("f1", DataTypes.BIGINT())])


def prepared(settings, input_path):
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("parallelism.default", "1")
    t_env.create_temporary_system_function("discount", udf(Discount(), result_type=DataTypes.DOUBLE()))
    t_env.create_temporary_system_function("weighted_mean", udaf(WeightedMean()))
    t_env.create_temporary_function("letters", letters)
    t_env.execute_sql(f"""
        CREATE TABLE orders (id INT, customer STRING, product STRING, amount DOUBLE, ts STRING) WITH (
            'connector' = 'filesystem', 'path' = '{input_path}/orders', 'format' = 'csv')
    """)
    return t_env


def main(args):
    stream = prepared(EnvironmentSettings.in_streaming_mode(), args.input)
    means = {}
    result = stream.execute_sql(
        "SELECT product, weighted_mean(discount(product, amount), id) FROM orders GROUP BY product"
    )
    with result.collect() as rows:
        for row in rows:
            means[row[0]] = row[1]
    for product in sorted(means):
        print(product, round(means[product], 6))

    t_env = prepared(EnvironmentSettings.in_batch_mode(), args.input)
    t_env.execute_sql("""
        SELECT id, letter, n FROM orders, LATERAL TABLE(letters(product, id)) AS t(letter, n) WHERE id < 12 ORDER BY id, n
    """).print()
    orders = t_env.from_path("orders")
    hours = orders.select(col("customer"), parts(col("ts")).get("hour").alias("h"), col("amount"))
    busy = hours.group_by(col("h")).select(col("h"), col("customer").count.alias("n"), col("amount").max.alias("most"))
    busy.order_by(col("h")).execute().print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
