"""Records the types of all forms with arguments of all types, with PyFlink's Python; only what is not recorded yet.

A form has, by its arguments, the type of the expression; `invalid`, if Flink's planner refuses it, or `no code`, if
Flink plans it and has no code for it.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.flink_recordings.argument_types.forms import filled, forms, key  # noqa: E402
from tests.flink_recordings.values.inputs import ZONE, write_inputs  # noqa: E402

RECORDED = HERE / "recorded.json.gz"
INVALID, NO_CODE = "invalid", "no code"
AT_ONCE = 30


def main() -> None:
    known = json.loads(gzip.decompress(RECORDED.read_bytes())) if RECORDED.exists() else {}
    with tempfile.TemporaryDirectory() as temporary:
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.get_config().set("table.local-time-zone", ZONE)
        t_env.execute_sql(write_inputs(Path(temporary)))
        results: dict[str, dict[str, str]] = {}
        started = time.monotonic()
        for number, (form, arguments) in enumerate(forms().items()):
            found = known.get(form, {})
            new = [one for one in arguments if key(one) not in found]
            results[form] = found | _recorded(t_env, form, new)
            if number % 20 == 0:
                print(f"{number}: {form}: {time.monotonic() - started:.1f} s", flush=True)
    text = json.dumps(results, indent=0, ensure_ascii=False)
    RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))


def _recorded(t_env: TableEnvironment, form: str, arguments: list[tuple[str, ...]]) -> dict[str, str]:
    found = {one: _type(t_env, filled(form, one)) for one in arguments}
    valid = [one for one in arguments if found[one] != INVALID]
    for first in range(0, len(valid), AT_ONCE):
        for one in _without_code(t_env, form, valid[first : first + AT_ONCE]):
            found[one] = NO_CODE
    return {key(one): kind for one, kind in found.items()}


def _type(t_env: TableEnvironment, expression: str) -> str:
    try:
        (kind,) = t_env.sql_query(f"SELECT {expression} FROM v")._j_table.getResolvedSchema().getColumnDataTypes()
    except Exception:
        return INVALID
    return str(kind.getLogicalType().asSummaryString())


def _without_code(t_env: TableEnvironment, form: str, arguments: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the arguments for which no code is generated."""
    try:
        t_env.sql_query(f"SELECT {', '.join(filled(form, one) for one in arguments)} FROM v").explain()
    except Exception:
        if len(arguments) == 1:
            return arguments
        half = len(arguments) // 2
        return _without_code(t_env, form, arguments[:half]) + _without_code(t_env, form, arguments[half:])
    return []


if __name__ == "__main__":
    main()
