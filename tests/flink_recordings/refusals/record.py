"""Records which random statements Flink takes, and why it refuses the others: it runs with PyFlink's Python."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment
from statements import MODES, TABLES, statements

RECORDED = Path(__file__).with_name("recorded.json.gz")


def refusal(t_env: TableEnvironment, statement: str) -> str | None:
    """Return the last cause of an error, None for a statement that Flink takes."""
    try:
        t_env.explain_sql(statement)
    except Exception as error:
        causes = re.findall("^(?:Caused by)?: (.*)", str(error), re.MULTILINE)
        return causes[-1] if causes else str(error).splitlines()[0]
    return None


def main() -> None:
    found: dict[str, dict[str, str | None]] = {}
    for mode in MODES:
        settings = EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
        t_env = TableEnvironment.create(settings)
        for table in TABLES:
            t_env.execute_sql(table)
        found[mode] = {statement: refusal(t_env, statement) for statement in statements()}
    RECORDED.write_bytes(gzip.compress(json.dumps(found, indent=0).encode(), mtime=0))


if __name__ == "__main__":
    main()
