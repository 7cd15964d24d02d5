"""Compares queries over tens of thousands of rows out of order, with updates, with what Flink gave for them.

Some are stopped with a savepoint, and go on in another parallelism.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Instant, RowKind
from firesteel.common.options.state_options import RECOVERY_PATH
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.errors import FiresteelError
from firesteel.table import StreamTableEnvironment
from firesteel.testing import run_local
from tests.flink_recordings.large.folding import folded, line, summary
from tests.flink_recordings.large.inputs import declarations, write_inputs
from tests.flink_recordings.large.queries import Query, queries
from tests.flink_recordings.recordings import recorded_large_results

pytestmark = pytest.mark.slow

SESSIONS_IN_BATCH = "Flink has no session windows in BATCH mode"
ROWS_LOST = "Flink drops rows: the local aggregation waits for the end of a window in UTC"
DIFFERENT = {
    **dict.fromkeys(
        ("session batch UTC", "session_of_all batch UTC", "session_values batch UTC", "legacy_session batch UTC"),
        SESSIONS_IN_BATCH,
    ),
    **dict.fromkeys(
        ("over_range batch UTC", "over_days batch UTC"), "Flink generates code that does not compile for these frames"
    ),
    "over_unbounded_rows batch UTC": "Flink has no DISTINCT in OVER in BATCH mode",
    "lateral batch UTC": "Flink cannot plan a lateral subquery with LIMIT in BATCH mode",
    **dict.fromkeys(
        [f"lateral streaming {zone}" for zone in ("UTC", "America/New_York")]
        + [f"lateral_of_changes streaming {zone}" for zone in ("UTC", "Asia/Shanghai")],
        "Flink ranks the rows of NULL for NULL, though they are not equal",
    ),
    "group_of_changes_in_mini_batches streaming UTC": "Flink merges the variances of retracted rows wrongly",
    "nexmark_q9 streaming UTC": "Flink's fast Top-1 does not retract former winners",
    **dict.fromkeys(
        (
            f"{name}_ltz streaming Asia/Shanghai"
            for name in ("tumble_days", "hop_days", "window_cascade", "tumble_days_of_changes", "hop_days_of_changes")
        ),
        ROWS_LOST,
    ),
}
"""What firesteel does differently, and why; each of them must still differ."""

ADDED = (RowKind.INSERT, RowKind.UPDATE_AFTER)
BATCH_ELEMENTS = 2500
CASES = [pytest.param(query, *case, id=query.key(*case)) for query in queries() for case in query.cases]
EVERY = 1 if os.environ.get("FIRESTEEL_ALL_RECORDINGS") else 28
"""By default some cases run, nightly each: the number of cases of a query varies, so these are of all kinds."""


def is_recorded(key: str) -> bool:
    """Return whether Flink runs a query."""
    return "error" not in recorded_large_results()[key]


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("large")
    write_inputs(directory)
    return directory


@pytest.mark.parametrize(("query", "mode", "zone"), CASES[::EVERY])
def test_a_query_gives_what_flink_gives(query: Query, mode: str, zone: str, inputs: Path) -> None:
    key = query.key(mode, zone)
    recorded = recorded_large_results()[key]
    assert recorded["sql"] == query.sql
    if "error" in recorded and key not in DIFFERENT:
        with pytest.raises(FiresteelError):
            lines_of(query, mode, zone, inputs)
        return
    lines = lines_of(query, mode, zone, inputs)
    if wanted := os.environ.get("FIRESTEEL_LARGE_RESULTS"):
        Path(wanted, key.replace("/", "_").replace(" ", "_")).write_text("\n".join(lines) + "\n")
    found = {"sql": query.sql, **summary(lines)}
    if key in DIFFERENT:
        assert found != recorded, "remove it from DIFFERENT"
    else:
        assert found["first"] == recorded["first"]
        assert found == recorded


RESCALED = [
    case for case in CASES if case.values[1] == "streaming" and case.id not in DIFFERENT and is_recorded(str(case.id))
]


@pytest.mark.parametrize(("query", "mode", "zone"), RESCALED[:: 16 * EVERY])
def test_a_savepoint_goes_on_in_another_parallelism(
    query: Query, mode: str, zone: str, inputs: Path, tmp_path: Path
) -> None:
    before, after = (1, 1) if query.parallelism == 1 else (2, 3)  # one subtask may be needed, see EACH_RECORD
    first = run_local(program(query, mode, zone, inputs, before), batch_elements=1500, batches=3, savepoint=tmp_path)
    restored = {RECOVERY_PATH.key: str(first.savepoint)}
    second = run_local(program(query, mode, zone, inputs, after, restored), batch_elements=BATCH_ELEMENTS)
    lines = folded(changes_of(first.elements + second.elements))
    assert {"sql": query.sql, **summary(lines)} == recorded_large_results()[query.key(mode, zone)]


def lines_of(query: Query, mode: str, zone: str, inputs: Path) -> list[str]:
    env = program(query, mode, zone, inputs, query.parallelism)
    changes = changes_of(run_local(env, batch_elements=None if mode == "batch" else BATCH_ELEMENTS).elements)
    return [text for _, text in changes] if query.is_ordered else folded(changes)


def program(
    query: Query, mode: str, zone: str, inputs: Path, parallelism: int, options: Mapping[str, str] | None = None
) -> StreamExecutionEnvironment:
    """Return an environment whose only job collects the changes of a query."""
    configuration = Configuration()
    for key, value in (options or {}).items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    env.set_runtime_mode(RuntimeExecutionMode[mode.upper()])
    t_env = StreamTableEnvironment.create(env)
    for key, value in {"table.local-time-zone": zone, **query.options}.items():
        t_env.get_config().set(key, value)
    for statement in declarations(inputs, with_changes=mode == "streaming"):
        t_env.execute_sql(statement)
    t_env.to_changelog_stream(t_env.sql_query(query.sql)).collect_async()
    return env


def changes_of(rows: list[Any]) -> Iterator[tuple[bool, str]]:
    for row in rows:
        yield row.get_row_kind() in ADDED, line([plain(value) for value in row])


def plain(value: Any) -> Any:
    """Return a value as Flink's JSON has it."""
    match value:
        case Instant():
            return plain(datetime.fromtimestamp(value.to_epoch_milli() / 1000, UTC).replace(tzinfo=None)) + "Z"
        case datetime():
            return value.isoformat(" ").rstrip("0") if value.microsecond else value.isoformat(" ")
        case date() | time():
            return value.isoformat()
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case _:
            return plain(value.as_dict()) if hasattr(value, "as_dict") else value
