"""Temporary files are in the first directory of `io.tmp.dirs`: a table has all others."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import firesteel
from firesteel.common import Configuration, Types
from firesteel.common.files.temporary_directories import made_directory, temporary_directory
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.operators.exchange.spill import SpilledList
from firesteel.operators.state.disk_store import DiskStore
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.dispatcher.execution_graph_store import ExecutionGraphStore
from firesteel.runtime.executiongraph.job_details import archive_unstarted
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.spark.gateway import SparkGateway
from firesteel.spark.temporary_directory import TemporaryDirectory
from firesteel.testing import run_local
from tests.runtime.helpers import job_graph

SOURCE = Path(firesteel.__file__).parent

ELSEWHERE = {
    "common/files/run_directory.py gettempdir": "where commands find processes, whatever their options",
    "common/files/temporary_directories.py gettempdir": "the default of io.tmp.dirs",
    "cli/diff.py TemporaryDirectory": "a plan, of a command without a configuration",
    "migration/trial_run.py TemporaryDirectory": "findings of a few lines, of a command without a configuration",
    "spark/slot_processes.py TemporaryDirectory": "sockets only, whose paths must not exceed 100 characters",
    "spark/small_batches.py TemporaryDirectory": "a socket only, whose path must not exceed 100 characters",
}
"""File and call of each temporary file that does not follow `io.tmp.dirs`, and why."""

PLACES = {"SpillFile": 0, "SpilledList": 1, "TemporaryDirectory": 1}
"""Our own classes that make temporary files, and the position of the argument with the configured directory."""


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """Yield each call that makes a temporary file or directory, with the argument that says where; None without one."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        given = {word.arg: word.value for word in node.keywords}
        if isinstance(function, ast.Attribute) and getattr(function.value, "id", None) == "tempfile":
            yield function.attr, given.get("dir")
        elif isinstance(function, ast.Name) and function.id in PLACES:
            place = PLACES[function.id]
            yield function.id, dict(enumerate(node.args)).get(place)


def imports_names(tree: ast.AST) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.module == "tempfile" for node in ast.walk(tree))


def test_the_table_has_all_temporary_files_elsewhere() -> None:
    found = set()
    for path in SOURCE.rglob("*.py"):
        text, name = path.read_text(), path.relative_to(SOURCE).as_posix()
        if not any(word in text for word in ("tempfile", *PLACES)):
            continue
        tree = ast.parse(text)
        assert not imports_names(tree), f"{name}: import tempfile, not its names, so that this test finds the calls"
        for call, where in calls(tree):
            if where is None or (isinstance(where, ast.Constant) and where.value is None):
                found.add(f"{name} {call}")
    assert found == ELSEWHERE.keys()


def of_disk_state(options: dict[str, str]) -> Callable[[], None]:
    store = DiskStore(options)
    store.table()["key"] = [1]
    return lambda: None


def of_spilled_rows(options: dict[str, str]) -> Callable[[], None]:
    rows = SpilledList(1, temporary_directory(options))
    rows.add([b"row"], None, 100)
    assert rows._file is not None
    assert rows._file._directory == temporary_directory(options)
    return rows._file.close


def of_a_process(options: dict[str, str]) -> Callable[[], None]:
    directory = TemporaryDirectory("x", temporary_directory(options))
    assert str(directory.path.parent) == temporary_directory(options)
    return directory.remove


def of_a_local_run(options: dict[str, str]) -> Callable[[], None]:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    pairs = env.from_collection([3, 1, 2], Types.LONG()).key_by(lambda number: number % 2, Types.LONG())
    pairs.reduce(max).print()
    run_local(env)
    return lambda: None


@pytest.mark.parametrize("use", [of_disk_state, of_spilled_rows, of_a_process, of_a_local_run])
def test_a_missing_directory_is_made_and_used(
    use: Callable[[dict[str, str]], Callable[[], None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, configured = tmp_path / "system", tmp_path / "disk" / "tmp"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    close = use({"io.tmp.dirs": f"{configured},/other"})
    assert configured.is_dir()
    assert list(elsewhere.iterdir()) == []
    close()


async def test_ended_jobs_are_in_the_configured_directory(tmp_path: Path) -> None:
    options: Mapping[str, Any] = {"io.tmp.dirs": str(tmp_path / "disk"), "jobstore.cache-size": "0 b"}
    store = ExecutionGraphStore(ManualClock(), options)
    await store.put(archive_unstarted(job_graph(("a", 2, []), name="job"), JobStatus.CANCELED, 1, 2))
    assert len(list((tmp_path / "disk").glob("firesteel-jobs-*/*"))) == 1
    store.close()


def test_without_the_option_it_is_that_of_the_system() -> None:
    assert made_directory(temporary_directory({})) == tempfile.gettempdir()


@pytest.mark.spark
def test_the_files_of_spark_are_in_the_configured_directory(tmp_path: Path) -> None:
    gateway = SparkGateway("local[1]", {}, temporary=str(tmp_path / "disk"))
    try:
        assert list((tmp_path / "disk").glob("firesteel-tmp-spark-*/jvm.log"))
        assert gateway._settings["spark.local.dir"].startswith(str(tmp_path / "disk"))
    finally:
        gateway.close()
