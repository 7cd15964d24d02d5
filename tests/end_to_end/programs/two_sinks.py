"""One source, a view and two sinks in a statement set: purchases as JSON, counts by user as CSV."""

import argparse

from pyflink.table import EnvironmentSettings, TableEnvironment


def main(args):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(f"""
        CREATE TABLE clicks (`user` STRING, page STRING, ts TIMESTAMP(3)) WITH (
            'connector' = 'filesystem', 'path' = '{args.input}/clicks', 'format' = 'json')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE bought (`user` STRING, paid_at STRING) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}/bought', 'format' = 'json')
    """)
    t_env.execute_sql(f"""
        CREATE TABLE activity (`user` STRING, clicks BIGINT, first_click TIMESTAMP(3), pages STRING) WITH (
            'connector' = 'filesystem', 'path' = '{args.output}/activity', 'format' = 'csv',
            'csv.field-delimiter' = ';')
    """)
    t_env.execute_sql("CREATE TEMPORARY VIEW known AS SELECT * FROM clicks WHERE `user` <> 'u0'")
    statements = t_env.create_statement_set()
    statements.add_insert_sql(
        "INSERT INTO bought SELECT `user`, DATE_FORMAT(ts, 'yyyy-MM-dd HH:mm') FROM known WHERE page = '/pay'"
    )
    statements.add_insert_sql(
        "INSERT INTO activity SELECT `user`, COUNT(*), MIN(ts), LISTAGG(DISTINCT UPPER(SUBSTRING(page, 2, 1)))"
        " FROM known WHERE page <> '/' GROUP BY `user`, page"
    )
    statements.execute().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input")
    parser.add_argument("--output")
    main(parser.parse_args())
