"""People that the connector faker makes up: names and ages within their bounds."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.get_config().set("table.local-time-zone", "UTC")
    t_env.execute_sql("""
        CREATE TABLE people (name STRING, age INT, country STRING) WITH (
            'connector' = 'faker', 'number-of-rows' = '200', 'fields.name.expression' = '#{Name.fullName}',
            'fields.age.expression' = '#{number.numberBetween ''18'',''65''}',
            'fields.country.expression' = '#{regexify ''(NO|IT|PE){1}''}')
    """)
    t_env.execute_sql("""
        SELECT COUNT(*) AS n, COUNT(name) AS names, MIN(age) >= 18 AND MAX(age) < 65 AS is_working, COUNT(DISTINCT country) AS c
        FROM people WHERE country IN ('NO', 'IT', 'PE')
    """).print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()

    main(parser.parse_args())
