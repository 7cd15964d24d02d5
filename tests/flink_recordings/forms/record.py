"""Records which forms of queries Flink takes, and the types of their columns: it runs with PyFlink's Python.

The forms are those of `statements.txt`, one in a line. `explain` goes as far as the generation of code.
"""

from __future__ import annotations

import json
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

HERE = Path(__file__).parent
SOURCE = (HERE / "source.sql").read_text()


def types(t_env: TableEnvironment, statement: str) -> list[str] | None:
    """Return the types of the columns of a query, None if it is refused."""
    try:
        table = t_env.sql_query(statement)
        table.explain()
    except Exception:
        return None
    return [str(kind) for kind in table.get_schema().get_field_data_types()]


def main() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(SOURCE)
    found = {statement: types(t_env, statement) for statement in (HERE / "statements.txt").read_text().splitlines()}
    lines = (f"{json.dumps(statement)}: {json.dumps(result)}" for statement, result in found.items())
    (HERE / "recorded.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
