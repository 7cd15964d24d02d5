"""Records which tables Flink takes, and which statements with them: it runs with PyFlink's Python, two minutes.

`recorded.json` has the tables and statements, too; whether Flink takes them is written anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

FILE = Path(__file__).parent / "recorded.json"


def is_taken(case: dict[str, Any], options: str) -> bool:
    """Return whether a table can be created, and a statement be explained."""
    settings = EnvironmentSettings.new_instance()
    settings = settings.in_batch_mode() if case["mode"] == "batch" else settings.in_streaming_mode()
    t_env = TableEnvironment.create(settings.build())
    try:
        t_env.execute_sql(f"CREATE TABLE t ({case['columns']}) {case['tail']} WITH ({options})")
        t_env.explain_sql(case["statement"])
    except Exception:
        return False
    return True


def main() -> None:
    found = json.loads(FILE.read_text())
    for case in found["cases"]:
        case["flink"] = is_taken(case, found["connectors"][case["connector"]])
    lines = ",\n".join(map(json.dumps, found["cases"]))
    FILE.write_text(f'{{"connectors": {json.dumps(found["connectors"])}, "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
