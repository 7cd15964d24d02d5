"""Counts the words of text files with SQL.

    firesteel run examples/sql_word_count.py --input examples/data/alice.txt --top 5

The query runs in batch mode, so it prints each word once.
"""

import argparse
import re

from firesteel.table import DataTypes, EnvironmentSettings, TableEnvironment
from firesteel.table.udf import udtf

WORD = re.compile(r"[a-z]+")


@udtf(result_types=[DataTypes.STRING()])
def words(line):
    yield from WORD.findall((line or "").lower())


def main():
    parser = argparse.ArgumentParser(description="Count the words of text files.")
    parser.add_argument("--input", required=True, help="a text file, or a directory of them")
    parser.add_argument("--top", type=int, default=10, help="number of words to print")
    options = parser.parse_args()

    table_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    table_env.create_temporary_function("words", words)
    path = options.input.replace("'", "''")
    table_env.execute_sql(
        f"CREATE TABLE lines (line STRING) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'raw')"
    )
    table_env.execute_sql(f"""
        SELECT word, COUNT(*) AS n
        FROM lines, LATERAL TABLE(words(line)) AS t (word)
        GROUP BY word
        ORDER BY n DESC, word
        LIMIT {options.top}
    """).print()


if __name__ == "__main__":
    main()
