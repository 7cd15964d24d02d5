"""State that an earlier release wrote is read, although the modules that its pickles name have moved since."""

from __future__ import annotations

import functools
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.state_processor.program_fit import program_fit
from firesteel.testing import run_local
from tests.common.test_json_values import CASES
from tests.task.older_savepoints import evolving, kinds, queries, typed
from tests.task.older_savepoints.program import KEYS, environment

SAVEPOINTS = Path(__file__).parent / "older_savepoints"


@pytest.mark.parametrize("name", ["rooms", "data/rooms"])
def test_a_job_goes_on_from_the_savepoint_of_an_earlier_release(name: str, tmp_path: Path) -> None:
    whole = run_local(environment(tmp_path / "whole"), batch_elements=5)
    rest = run_local(environment(tmp_path / "rest", SAVEPOINTS / name), batch_elements=5)
    before = (SAVEPOINTS / name / "printed.txt").read_text().splitlines()
    assert Counter([*before, *rest.lines]) == Counter(whole.lines)
    assert len(rest.lines) > 50


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("name", ["described", "data/described"])
def test_every_kind_of_state_goes_on_in_memory_and_on_disk(name: str, backend: str) -> None:
    whole = run_local(kinds.environment("hashmap"), batch_elements=5)
    rest = run_local(kinds.environment(backend, SAVEPOINTS / name), batch_elements=5)
    before = (SAVEPOINTS / name / "printed.txt").read_text().splitlines()
    assert Counter([*before, *rest.lines]) == Counter(whole.lines)
    assert len(rest.lines) > 50


@pytest.mark.parametrize("name", queries.QUERIES)
@pytest.mark.parametrize(
    ("release", "backend", "prunes"),
    [
        ("queries_lmdb", "rocksdb", False),
        ("data/queries", "hashmap", False),
        ("data/queries", "rocksdb", False),
        ("layouts", "hashmap", True),
        ("layouts", "rocksdb", True),
    ],
)
def test_queries_go_on_in_memory_and_on_disk(release: str, name: str, backend: str, prunes: bool) -> None:
    query, savepoint = queries.QUERIES[name], SAVEPOINTS / release / name
    rest = run_local(queries.environment(query, backend, savepoint, prunes), batch_elements=5)
    before = (savepoint / "printed.txt").read_text().splitlines()
    assert folded([*before, *rest.lines]) == whole_query(name)
    assert len(rest.lines) > 3


@functools.cache
def whole_query(name: str) -> Counter[str]:
    """Return the rows that a query leaves when it runs without interruption."""
    return folded(run_local(queries.environment(queries.QUERIES[name], "hashmap"), batch_elements=5).lines)


@pytest.mark.parametrize("release", ["queries_lmdb", "data/queries"])
def test_a_top_n_that_kept_all_columns_names_the_option_with_which_it_goes_on(release: str) -> None:
    savepoint = SAVEPOINTS / release / "latest"
    environment = queries.environment(queries.QUERIES["latest"], "hashmap", savepoint)
    if release != "queries_lmdb":  # Its times are pickled, so only a job reads them.
        found = program_fit(str(savepoint), environment.get_stream_graph().get_job_graph())
        assert [one.fit for one in found.operators if "Deduplicate" in one.name] == ["refused"]
    with pytest.raises(UserFunctionError, match=r"set 'table.optimizer.prune-top-n-enabled' to 'false'"):
        run_local(environment, batch_elements=5)


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("name", ["evolving", "data/evolving"])
def test_rows_and_records_go_on_with_other_fields(name: str, backend: str) -> None:
    rest = run_local(evolving.environment(True, backend, SAVEPOINTS / name), batch_elements=5)
    whole = run_local(evolving.environment(True), batch_elements=5)
    found, expected = ({key: rest for key, *rest in map(shown, result.lines)} for result in (rest, whole))
    assert found.keys() == expected.keys()
    before = after = 0
    for key, (rows, records, last) in found.items():
        rows_then, records_then, last_then = expected[key]
        assert last == last_then
        for one, then, missing in [*((*pair, None) for pair in zip(rows, rows_then, strict=True)),
                                   *((*pair, "?") for pair in zip(records, records_then, strict=True))]:  # fmt: skip
            is_old = one["added"] == missing
            before, after = before + is_old, after + (not is_old)
            assert one == {**then, "added": missing if is_old else then["added"]}
    assert before > 20
    assert after > 20


@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("name", ["data/typed"])
def test_values_of_each_type_go_on(name: str, backend: str) -> None:
    whole = run_local(typed.environment("hashmap"), batch_elements=5)
    rest = run_local(typed.environment(backend, SAVEPOINTS / name), batch_elements=5)
    assert Counter(rest.lines) == Counter(whole.lines)
    assert all("True" in line or "own" in line for line in rest.lines)
    assert len(rest.lines) == KEYS * (len(CASES) + 1)


def shown(line: str) -> list[Any]:
    """Return what a line of JSON says, after the number of the subtask."""
    found: list[Any] = json.loads(line.partition("> ")[2])
    return found


def folded(lines: Iterable[str]) -> Counter[str]:
    """Return the rows that changes leave; how many changes lead there depends on how batches are cut."""
    rows: Counter[str] = Counter()
    for kind, row in (line.split("> ")[-1].split(" ", 1) for line in lines):
        rows[row] += 1 if kind in ("+I", "+U") else -1
    return +rows
