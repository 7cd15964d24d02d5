"""Counts the words of a text in SQL, with a table function in Python."""

import argparse

from pyflink.common import Row
from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment
from pyflink.table.udf import udtf


@udtf(result_types=[DataTypes.STRING()])
def split(line):
    for word in line.split():
        yield Row(word)


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.create_temporary_function("split_words", split)
    t_env.execute_sql(f"""
        CREATE TABLE lines (line STRING) WITH ('connector' = 'filesystem', 'path' = '{args.input}/text', 'format' = 'raw')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE counts (word STRING, n BIGINT) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}', 'format' = 'csv')
    """)
    t_env.execute_sql("""
        INSERT INTO counts
        SELECT word, COUNT(*) FROM lines, LATERAL TABLE(split_words(line)) AS t(word) GROUP BY word
    """).wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
