"""Records which keywords Flink's parser takes as names, at each place where a name may stand.

It runs with PyFlink's Python.
"""

from __future__ import annotations

import json
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

PLACES = {
    "alias": "SELECT 1 AS {}",
    "alias without AS": "SELECT 1 {}",
    "alias of a table": "SELECT 1 FROM t AS {}",
    "alias of a table without AS": "SELECT 1 FROM t {}",
    "value": "SELECT {} FROM t",
    "condition": "SELECT 1 FROM t WHERE {} = 1",
    "key": "SELECT 1 FROM t GROUP BY {}",
    "order": "SELECT 1 FROM t ORDER BY {}",
    "column of a table": "SELECT t.{} FROM t",
    "field": "SELECT t.a.{} FROM t",
    "table": "SELECT 1 FROM {}",
    "table of a database": "SELECT 1 FROM d.{}",
    "database": "SELECT 1 FROM {}.t",
    "column of a join": "SELECT 1 FROM t JOIN u USING ({})",
    "column of WITH": "WITH x({}) AS (SELECT 1) SELECT 1",
    "table of WITH": "WITH {} AS (SELECT 1) SELECT 1",
    "window": "SELECT 1 FROM t WINDOW {} AS (ORDER BY a)",
    "variable of a pattern": "SELECT 1 FROM t MATCH_RECOGNIZE "
    "(ORDER BY a MEASURES 1 AS b PATTERN ({}) DEFINE A AS TRUE)",
    "argument": "SELECT f({} => 1)",
    "field of a type": "SELECT CAST(NULL AS ROW<{} INT>)",
    "declared column": "CREATE TABLE x ({} INT)",
    "computed column": "CREATE TABLE x (a INT, {} AS a)",
    "key column": "CREATE TABLE x (a INT, PRIMARY KEY ({}) NOT ENFORCED)",
    "watermark": "CREATE TABLE x (a INT, WATERMARK FOR {} AS a)",
    "partition": "CREATE TABLE x (a INT) PARTITIONED BY ({})",
    "added column": "ALTER TABLE x ADD {} INT",
    "renamed column": "ALTER TABLE x RENAME {} TO b",
    "inserted column": "INSERT INTO t ({}) SELECT 1",
    "declared table": "CREATE TABLE {} (a INT)",
    "view": "CREATE VIEW {} AS SELECT 1",
    "target": "INSERT INTO {} SELECT 1",
    "function": "CREATE FUNCTION {} AS 'x'",
    "model": "CREATE MODEL {} WITH ('a' = 'b')",
    "catalog": "CREATE CATALOG {} WITH ('a' = 'b')",
    "used database": "USE {}",
    "module": "LOAD MODULE {}",
    "call": "SELECT {}()",
    "call with an argument": "SELECT {}(1)",
    "call with arguments": "SELECT {}(a, b) FROM t",
}


def main() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    parser = t_env._j_tenv.getPlanner().getParser()
    words = _keywords(parser)
    refused = {name: [word for word in words if _refuses(parser, text.format(word))] for name, text in PLACES.items()}
    reserved = set(refused["alias"])
    recorded = {
        "reserved": " ".join(sorted(reserved)),
        "not_reserved": " ".join(sorted(set(words) - reserved)),
        "places": {
            name: {
                "statement": PLACES[name],
                "not_refused": " ".join(sorted(reserved.difference(found))),
                "also_refused": " ".join(sorted(set(found) - reserved)),
            }
            for name, found in refused.items()
        },
    }
    Path(__file__).with_name("recorded.json").write_text(json.dumps(recorded, indent=1) + "\n")


def _keywords(parser: object) -> list[str]:
    """Return the words among the tokens of Flink's grammar."""
    loader = parser.getClass().getClassLoader()  # type: ignore[attr-defined]
    tokens = loader.loadClass("org.apache.flink.sql.parser.impl.FlinkSqlParserImplConstants").getField("tokenImage")
    words = (token.strip('"') for token in tokens.get(None) if token.startswith('"'))
    return sorted({word for word in words if word.replace("_", "").isalnum() and not word[0].isdigit()})


def _refuses(parser: object, statement: str) -> bool:
    """Return whether the parser refuses a statement, not the check of its names and types after it."""
    try:
        parser.parse(statement)  # type: ignore[attr-defined]
    except Exception as error:
        return "SqlParser" in str(error.java_exception.toString()).split(":")[0]  # type: ignore[attr-defined]
    return False


if __name__ == "__main__":
    main()
