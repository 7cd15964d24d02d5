"""Connectors and formats of other packages are found by their entry points."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from firesteel.connectors import identifiers
from firesteel.connectors.identifiers import connector_module, format_module
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.table.errors import ValidationException
from firesteel.testing import run_local

EXAMPLE = Path(__file__).parents[2] / "examples" / "table_connector"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the example into a directory, from a copy, as a build may write beside its sources."""
    sources, target = (tmp_path_factory.mktemp(name) for name in ("sources", "target"))
    shutil.copytree(EXAMPLE, sources, dirs_exist_ok=True)
    options = ["--quiet", "--offline", "--no-deps", "--no-build-isolation", "--python", sys.executable]
    subprocess.run([sys.executable, "-m", "uv", "pip", "install", *options, "--target", target, sources], check=True)
    return target


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a directory of packages, whose modules are forgotten after the test."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    identifiers._loaded.clear()
    for name in set(sys.modules) - before:
        if name.startswith(("firesteel_squares", "firesteel_pipes", "firesteel_lines", "brought")):
            del sys.modules[name]


def declare(directory: Path, package: str, group: str, identifier: str, module: str) -> None:
    """Write what an installed package declares."""
    about = directory / f"{package}-1.0.dist-info"
    about.mkdir(exist_ok=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{identifier} = {module}\n")


def environment() -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env, StreamTableEnvironment.create(env)


def test_the_example_runs_once_it_is_installed(
    installed: Path, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(installed)
    env, t_env = environment()
    t_env.execute_sql("CREATE TABLE s (n BIGINT, square BIGINT) WITH ('connector' = 'squares', 'count' = '4')")
    options = f"'connector' = 'filesystem', 'path' = '{packages}/out', 'format' = 'pipes'"
    t_env.execute_sql(f"CREATE TABLE t (square BIGINT, name STRING) WITH ({options})")
    statements = t_env.create_statement_set()
    statements.add_insert_sql("INSERT INTO t SELECT square, 'x' FROM s WHERE n > 1")
    t_env.execute_sql(f"CREATE TABLE l (n BIGINT) WITH ('connector' = 'lines', 'path' = '{packages}/lines.txt')")
    statements.add_insert_sql("INSERT INTO l SELECT n FROM s")
    statements.attach_as_datastream()
    run_local(env)
    assert (packages / "lines.txt").read_text().splitlines() == ["0", "1", "2", "3"]
    [file] = [path for path in (packages / "out").rglob("*") if path.is_file()]
    assert file.read_text().splitlines() == ["4|x", "9|x"]
    t_env.execute_sql("CREATE TABLE bad (n BIGINT) WITH ('connector' = 'squares', 'count' = '4', 'foo' = '1')")
    with pytest.raises(ValidationException, match=r"'squares'\.\n\nUnsupported options:\n\nfoo"):
        t_env.sql_query("SELECT * FROM bad").explain()


def test_unknown_identifiers_are_answered_with_the_packages(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(installed)
    _, t_env = environment()
    t_env.execute_sql("CREATE TABLE t (n BIGINT) WITH ('connector' = 'nope')")
    with pytest.raises(ValidationException, match=r"\nspark\nsquares \(of the package firesteel-squares 1.0\)\n"):
        t_env.sql_query("SELECT * FROM t").explain()
    t_env.execute_sql("CREATE TABLE u (n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'nope')")
    with pytest.raises(ValidationException, match=r"\nparquet\npipes \(of the package firesteel-squares 1.0\)\nraw"):
        t_env.sql_query("SELECT * FROM u").explain()


@pytest.mark.parametrize("group", ["firesteel.connectors", "firesteel.formats"])
@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ([("one", "same", "a"), ("two", "same", "b")], "'same' is declared by two packages, .* 1.0 and .* 1.0"),
        ([("one", "same", "a"), ("two", "same", "a")], "'same' is declared by two packages, .* 1.0 and .* 1.0"),
        ([("one", "csv", "a"), ("two", "print", "a")], "is declared by two packages, firesteel and (one|two) 1.0"),
        ([("one", "same", "brought_nothing")], "'same' of the package one 1.0 cannot be loaded: ModuleNotFoundError"),
        ([("one", "same", "brought")], r"of the package one 1.0 must be a module with (make|source\(\) or sink)\(\)"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_package(
    packages: Path, group: str, declared: list[tuple[str, str, str]], message: str
) -> None:
    (packages / "brought.py").write_text("")
    for package, identifier, module in declared:
        declare(packages, package, group, identifier, module)
    with pytest.raises(ValidationException, match=message):
        connector_module("same") if group == "firesteel.connectors" else format_module("same", "files")


def test_a_format_is_offered_for_what_its_module_says(packages: Path) -> None:
    (packages / "brought.py").write_text("USES = ('messages',)\ndef make(columns, options):\n    return 1")
    declare(packages, "one", "firesteel.formats", "same", "brought")
    assert format_module("same", "files") is None
    found = format_module("same", "messages")
    assert found is not None
    assert found.__name__ == "brought"


def test_a_package_can_be_installed_while_a_program_runs(packages: Path) -> None:
    assert connector_module("same") is None
    (packages / "brought.py").write_text("def source(table, context):\n    return 1")
    declare(packages, "one", "firesteel.connectors", "same", "brought")
    assert connector_module("same") is not None


def test_entry_points_are_not_read_for_what_is_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: str) -> None:
        raise AssertionError("entry points are read")

    monkeypatch.setattr(identifiers, entry_points.__name__, refused)
    for identifier in identifiers.table_connectors():
        assert connector_module(identifier) is not None
