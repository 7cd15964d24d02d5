"""State of a query goes on only in one that keeps the same: another one is refused, in memory and on disk."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import firesteel.columns.kernels
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.state_processor.program_fit import program_fit
from firesteel.testing import run_local
from tests.task.older_savepoints.queries import QUERIES, environment

KERNELS = Path(firesteel.columns.kernels.__file__).parent
CHANGED = {
    "group": (
        "SELECT k, COUNT(*), SUM(v), MIN(txt), MAX(v) FROM s GROUP BY k",
        "groups by (int64); COUNT(); SUM(int64); AVG(int64); MIN(string); MAX(int64), but the query keeps groups by "
        "(int64); COUNT(); SUM(int64); MIN(string); MAX(int64) now",
    ),
    "distinct": (
        "SELECT k, COUNT(DISTINCT v), COUNT(txt) FILTER (WHERE v > 9) FROM s GROUP BY k",
        "COUNT(DISTINCT string), but the query keeps groups by (int64); COUNT(DISTINCT int64); COUNT(string) now",
    ),
    "tumble": (
        "SELECT k, window_end, SUM(v), COUNT(*) FROM TABLE(TUMBLE(TABLE s, DESCRIPTOR(t), INTERVAL '4' SECOND)) "
        "GROUP BY k, window_start, window_end",
        "groups by (int64); SUM(int64); slices of TUMBLE windows of 4000 ms, but the query keeps groups by (int64); "
        "SUM(int64); COUNT(); slices of ",
    ),
    "hop": (
        "SELECT window_end, COUNT(*) FROM TABLE(HOP(TABLE s, DESCRIPTOR(t), INTERVAL '1' SECOND, INTERVAL '4' SECOND)) "
        "GROUP BY window_start, window_end",
        "HOP windows of 3000 ms by 1000 ms, but the query keeps groups by (); COUNT(); slices of HOP windows of 4000 "
        "ms by 1000 ms now",
    ),
    "join": (
        "SELECT a.k, a.v, b.v, a.txt FROM s AS a JOIN s AS b ON a.k = b.k AND a.v = b.v + 14",
        "but the query keeps INNER join rows of (int64 KEY, int64 KEY, string); ",
    ),
    "semi join": (
        "SELECT v, k FROM s WHERE v IN (SELECT v * 2 FROM s)",
        "SEMI join rows of (int64 KEY); SEMI join rows of (int64 KEY), but the query keeps SEMI join rows of (int64, "
        "int64 KEY); ",
    ),
    "interval join": (
        "SELECT a.v, b.v, b.txt FROM s AS a JOIN s AS b ON a.k = b.k AND a.t BETWEEN b.t - INTERVAL '1' SECOND AND b.t",
        "but the query keeps INNER interval join rows of (int64 KEY, int64, string, timestamp[us, tz=UTC]); ",
    ),
    "latest": (
        "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY t DESC) AS place FROM s) "
        "WHERE place <= 2",
        "last in time rows of (int64 KEY, int64, timestamp[us, tz=UTC]), but the query keeps Top-N (APPEND_FAST) rows",
    ),
    "top": (
        "SELECT k, v FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY txt ORDER BY k) AS place FROM s) WHERE place <= 3",
        "rows of (int64, int64, string KEY, timestamp[us, tz=UTC]) by (0 NULLS FIRST) now",
    ),
    "left join": (
        "SELECT a.v, b.n FROM s AS a JOIN (SELECT v % 30 AS r, COUNT(*) AS n FROM s GROUP BY v % 30) AS b ON a.v = b.r",
        "LEFT join rows of (int64, int64 KEY), but the query keeps INNER join rows of (int64 KEY); ",
    ),
    "over": (
        "SELECT k, v, SUM(v) OVER (PARTITION BY txt ORDER BY t ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM s",
        "but the query keeps OVER rows of (int64, int64, string KEY, timestamp[us, tz=UTC]) by ",
    ),
}
SAME = {
    "session": "SELECT k, SESSION_START(t, INTERVAL '2' SECOND), COUNT(*), MAX(txt) FROM s WHERE v % 4 < 2 "
    "GROUP BY k, SESSION(t, INTERVAL '2' SECOND)",
    "group": "SELECT k AS a, COUNT(*) AS b, SUM(v), AVG(v), MIN(txt), MAX(v) AS c FROM s GROUP BY k",
    "top": "SELECT k, v AS w FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY txt) AS place FROM s) "
    "WHERE place <= 2",
}


def saved(name: str, directory: Path) -> Path:
    """Return a savepoint of a query."""
    run_local(environment(QUERIES[name], "rocksdb"), batch_elements=5, batches=4, savepoint=directory)
    [made] = directory.iterdir()
    return made


@pytest.mark.parametrize("name", CHANGED)
def test_state_of_another_query_is_refused_with_both(name: str, tmp_path: Path) -> None:
    query, parts = CHANGED[name]
    savepoint = saved(name, tmp_path)
    for backend in ("hashmap", "rocksdb"):
        with pytest.raises(UserFunctionError, match="ChangedQueryError") as caught:
            run_local(environment(query, backend, savepoint), batch_elements=5)
        assert parts in str(caught.value)


def test_an_upgrade_knows_before_what_does_not_fit(tmp_path: Path) -> None:
    savepoint = saved("group", tmp_path)
    for query, expected in ((QUERIES["group"], ["fits"]), (CHANGED["group"][0], ["refused"])):
        found = program_fit(str(savepoint), environment(query, "hashmap").get_stream_graph().get_job_graph())
        assert [one.fit for one in found.operators if "GroupAggregate" in one.name] == expected


@pytest.mark.parametrize("name", SAME)
def test_other_names_filters_and_limits_keep_the_state(name: str, tmp_path: Path) -> None:
    savepoint = saved(name, tmp_path)
    rest = run_local(environment(SAME[name], "hashmap", savepoint), batch_elements=5)
    again = run_local(environment(SAME[name], "hashmap"), batch_elements=5)
    assert 0 < len(rest.lines) < len(again.lines)


def test_each_kernel_declares_what_it_keeps() -> None:
    classes = {
        (path.name, node.name): {member.name for member in node.body if isinstance(member, ast.FunctionDef)}
        for path in KERNELS.rglob("*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
    }
    factories = {name: members for name, members in classes.items() if "make" in members and "Factory" in name[1]}
    assert len(factories) > 25
    inherited = {("over.py", "OverFactory"), ("updating_over.py", "UpdatingOverFactory")}
    assert {name for name, members in factories.items() if "state_layout" not in members} == inherited
