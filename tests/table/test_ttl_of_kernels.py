"""Each kernel that keeps state follows `table.exec.state.ttl`, or its operator in Flink does not either."""

from __future__ import annotations

import ast
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import firesteel.columns.kernels
from firesteel.columns.kernel import KernelContext
from firesteel.operators import column_runner
from firesteel.table import ChangelogMode
from firesteel.testing import run_local
from tests.table.local_runs import environments
from tests.table.test_row_kinds import QUERIES, TYPES, changelog, schema

KERNELS = Path(firesteel.columns.kernels.__file__).parent
FOLLOWS = {
    "GroupAggregateFactory": QUERIES["groups"],
    "JoinFactory": QUERIES["left join"],
    "TemporalJoinFactory": QUERIES["temporal join"],
    "UpdatingOverFactory": QUERIES["over in the order of a column"],
    "OverFactory": "SELECT id, SUM(v) OVER (PARTITION BY k ORDER BY ts) FROM c",
    "DeduplicateFactory": QUERIES["last by time"].replace("FROM a", "FROM c"),
    "FirstRowFactory": QUERIES["first by time"].replace("FROM a", "FROM c"),
    "RankFactory": QUERIES["ranks"],
    "SetOperationFactory": QUERIES["intersect"],
    "NormalizeFactory": "SELECT * FROM u",
    "UpsertMaterializeFactory": "INSERT INTO s SELECT v, k FROM a",
}
"""The kernels that follow the option, each with a query that uses it."""
WITHOUT = {
    "IntervalJoinFactory": "rows end with the watermark",
    "WindowJoinFactory": "windows end with the watermark",
    "SlicedWindowFactory": "windows end with the watermark",
    "WindowAggregateFactory": "windows end with the watermark",
    "WindowTableFactory": "windows end with the watermark",
    "MatchFactory": "a match has all the time that WITHIN gives it",
    "SortFactory": "rows wait for the watermark",
    "MergedGroupsFactory": "batch jobs have no time to live",
}
"""The kernels whose state has another end, as that of Flink's operators."""


def stateful_factories() -> set[str]:
    """The factories of kernels that keep state."""
    found = set()
    for path in KERNELS.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            members = [part for part in getattr(node, "body", ()) if isinstance(part, ast.FunctionDef)]
            if isinstance(node, ast.ClassDef) and node.name.endswith("Factory") and "make" in {m.name for m in members}:
                layouts = [ast.unparse(part.body[-1]) for part in members if part.name == "state_layout"]
                found |= set() if layouts == ["return STATELESS"] else {node.name}
    return found


def test_each_stateful_kernel_is_known() -> None:
    assert stateful_factories() == FOLLOWS.keys() | WITHOUT.keys()
    assert not FOLLOWS.keys() & WITHOUT.keys()


@pytest.mark.parametrize("name", FOLLOWS)
def test_a_kernel_looks_at_the_time_to_live_when_it_opens(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    looked: list[bool] = []

    class Noted(KernelContext):
        """Notes that a kernel asks for the time to live."""

        def __getattribute__(self, attribute: str) -> Any:
            if attribute == "state_ttl_ms":
                looked.append(True)
            return super().__getattribute__(attribute)

    opened: dict[str, list[bool]] = {}
    runner = column_runner.ColumnRunner
    make, open_runner = runner.__init__, runner.open

    def noted_make(self: Any, name: str, task: Any, output: Any, factory: Any, *args: Any, **options: Any) -> None:
        make(self, name, task, output, factory, *args, **options)
        self.factory_name = type(factory).__name__

    def noted_open(self: Any) -> None:
        looked.clear()
        open_runner(self)
        opened.setdefault(self.factory_name, []).append(bool(looked))

    monkeypatch.setattr(column_runner, "KernelContext", Noted)
    monkeypatch.setattr(runner, "__init__", noted_make)
    monkeypatch.setattr(runner, "open", noted_open)
    _run(FOLLOWS[name], tmp_path)
    assert opened[name], opened
    assert all(opened[name])


def _run(query: str, directory: Path) -> None:
    env, t_env = environments()
    t_env.get_config().set("table.exec.state.ttl", "1 s")
    for name in "ab":
        stream = env.from_collection(changelog(ord(name)), TYPES)
        t_env.create_temporary_view(name, t_env.from_changelog_stream(stream, schema()))
    rows = env.from_collection([], TYPES)
    t_env.create_temporary_view("c", t_env.from_data_stream(rows, schema()))
    upserts = t_env.from_changelog_stream(rows, schema(), ChangelogMode.upsert())
    t_env.create_temporary_view("u", upserts)
    with sqlite3.connect(directory / "s.db") as database:
        database.execute("CREATE TABLE s (v INT PRIMARY KEY, k STRING)")
    t_env.execute_sql(
        "CREATE TABLE s (v INT PRIMARY KEY NOT ENFORCED, k STRING) WITH ('connector' = 'jdbc', "
        f"'url' = 'jdbc:sqlite:{directory}/s.db', 'table-name' = 's')"
    )
    if query.startswith("INSERT"):
        statements = t_env.create_statement_set()
        statements.add_insert_sql(query)
        statements.attach_as_datastream()
    else:
        t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    run_local(env)
