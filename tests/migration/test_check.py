"""Findings of `firesteel check`. It runs in separate processes, because `pyflink` stays aliased in them."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

HEAD = (
    "from pyflink.datastream import StreamExecutionEnvironment\n"
    "env = StreamExecutionEnvironment.get_execution_environment()\n"
)


def firesteel(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "firesteel", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def check(tmp_path: Path) -> Any:
    def run(text: str, **others: str) -> dict[str, Any]:
        for name, other in others.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(other))
        program = tmp_path / "job.py"
        program.write_text(textwrap.dedent(text))
        done = firesteel("check", "--static", "--output", "json", program)
        assert not done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == bool(report["missing"])
        return report

    return run


def lines(findings: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(finding["line"], finding["name"]) for finding in findings]


WRONG = [
    ("\nfrom pyflink.ml import Table\nTable()", "pyflink.ml.Table", "there is no Flink ML"),
    ("\nimport pyflink.ml as t\nt.Table()", "pyflink.ml.Table", "there is no Flink ML"),
    ("\nimport pyflink.ml\npyflink.ml.Table()", "pyflink.ml.Table", "there is no Flink ML"),
    ("\nfrom pyflink.ml import Table\nclass A(Table): ...", "pyflink.ml.Table", "there is no Flink ML"),
    (
        "\n\nfrom pyflink.common import FileSink",
        "pyflink.common.FileSink",
        "it is in pyflink.datastream.connectors.",
    ),
    ("\n\nfrom pyflink.common import Zork", "pyflink.common.Zork", "PyFlink 2.3 has no such name either"),
    ("\n\nimport pyflink.zork", "pyflink.zork", "PyFlink 2.3 has no such module either"),
    (HEAD + "env.magic()", "StreamExecutionEnvironment.magic", "PyFlink 2.3 has no such name either"),
    (HEAD + "env.from_collection([1]).map(len).magic()", "DataStream.magic", "PyFlink 2.3 has no such name either"),
    (
        HEAD + "env.add_classpaths('x')",
        "StreamExecutionEnvironment.add_classpaths",
        "Java code is not run",
    ),
    (HEAD + "env._j_stream_execution_environment", "_j_stream_execution_environment", "there is no Java object"),
    ("\nimport pyflink.common as c\nc.Types.NOPE()", "Types.NOPE", "PyFlink 2.3 has no such name either"),
    (
        "from pyflink.datastream import *\ndef f(s: DataStream):\n    s.magic()\nf(1)",
        "DataStream.magic",
        "PyFlink 2.3 has no such name either",
    ),
    (
        "from pyflink.datastream import *\ndef f(s: KeyedStream[int, str]):\n    s.magic()\nf(1)",
        "KeyedStream.magic",
        "PyFlink 2.3 has no such name either",
    ),
    (
        HEAD + "env.from_collection([1]).key_by(len).count_window(2).reduce(max).magic()",
        "DataStream.magic",
        "PyFlink 2.3 has no such name either",
    ),
]
RIGHT = [
    "from pyflink.ml import Table",
    "from pyflink.ml import Table\ndef f(t: Table) -> Table:\n    x: Table\nf(1)",
    "from pyflink.ml import Table\ndef nobody_calls_this():\n    Table()",
    "try:\n    from pyflink.common import Zork\nexcept ImportError:\n    Zork = None",
    HEAD + "env = other()\nenv.magic()",
    HEAD + "for env in []:\n    env.magic()",
    HEAD + "with open('x') as env:\n    env.magic()",
    HEAD + "def f(env):\n    env.magic()\nf(1)",
    HEAD + "def f():\n    env = 1\n    def g():\n        env.magic()\n    g()\nf()",
]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The report of each text, all from one process."""
    directory = tmp_path_factory.mktemp("programs")
    texts = {f"job_{number}.py": text for number, text in enumerate([*(text for text, *_ in WRONG), *RIGHT])}
    for name, text in texts.items():
        (directory / name).write_text(text)
    programs = json.loads(firesteel("check", "--static", "--output", "json", directory).stdout)["programs"]
    return {texts[Path(program["file"]).name]: program for program in programs}


@pytest.mark.parametrize(("text", "name", "advice"), WRONG)
def test_missing_names_are_reported_with_their_lines(reports, text, name, advice):
    report = reports[text]
    is_broken = "PyFlink 2.3 has" in advice or "it is in pyflink." in advice
    found = report["broken" if is_broken else "missing"]
    assert lines(found) == [(3, name)]
    assert advice in found[0]["advice"]
    assert bool(report["missing"]) is not is_broken


@pytest.mark.parametrize("text", RIGHT)
def test_unused_and_undecidable_names_are_not_reported(reports, text):
    report = reports[text]
    assert (report["missing"], report["broken"]) == ([], [])


def test_all_missing_names_are_reported_at_once(check):
    report = check("from pyflink.ml import A, B\nfrom pyflink.common import C, Types\nA()\nTypes.INT()\nB.x()\n")
    assert lines(report["missing"]) == [(3, "pyflink.ml.A"), (5, "pyflink.ml.B")]
    assert lines(report["broken"]) == [(2, "pyflink.common.C")]
    assert report["works"] == ["Types", "Types.INT"]


def test_modules_beside_the_program_are_checked(check):
    report = check("import first\nfrom second import x", first="import pyflink.zork", second="from first import *")
    assert [Path(finding["file"]).name for finding in report["broken"]] == ["first.py"]


def test_replacements_are_suggested_for_jars(check):
    text = HEAD + 'env.add_jars("file:///a/flink-connector-jdbc-3.1.jar", f"file://{x}/mine.jar")\n'
    text += 'env.get_config().set_string("pipeline.jars", "file:///b/flink-sql-avro.jar;file:///c/flink-csv.jar")'
    report = check(text)
    assert lines(report["differs"]) == [
        (3, "flink-connector-jdbc-3.1.jar"),
        (3, "mine.jar"),
        (4, "flink-csv.jar"),
        (4, "flink-sql-avro.jar"),
    ]
    assert report["differs"][0]["advice"] == "not needed: JDBC is built in"
    assert "Java code is not run" in report["differs"][1]["advice"]


def test_the_report_is_readable(tmp_path):
    program = tmp_path / "job.py"
    program.write_text("from pyflink.ml import A, B\nfrom pyflink.common import Types\nA(Types.INT())\n")
    done = firesteel("check", program)
    assert done.returncode == 1
    assert done.stdout.splitlines()[:2] == [
        "Missing:",
        f"  {program}:3: pyflink.ml.A: there is no Flink ML; use a Python library in map()",
    ]
    assert "Imported, not used:\n" in done.stdout
    assert done.stdout.endswith("Works: Types, Types.INT\n\nJobs: none\n")


@pytest.mark.parametrize("command", [("run",), ("plan", "stream"), ("info",)], ids=lambda words: words[0])
def test_a_program_is_refused_before_any_of_it_runs(tmp_path, command):
    program = tmp_path / "job.py"
    program.write_text("print('runs')\nfrom pyflink.ml import A, B\nA()\nB()\n")
    done = firesteel(command[0], "--pyflink", *command[1:], program)
    assert done.returncode == 1
    assert done.stdout == ""
    first, *missing, last = done.stderr.splitlines()
    assert first == f"Error: {program} uses names of PyFlink that are not available in firesteel:"
    assert [line.split(": ")[0] for line in missing] == [f"{program}:3", f"{program}:4"]
    assert last.startswith(f"Run firesteel check {program} ")


def test_a_program_runs_without_a_check_up_to_the_name_that_is_missing(tmp_path):
    program = tmp_path / "job.py"
    program.write_text("from pyflink.ml import A\nprint('runs', flush=True)\nA()\n")
    done = firesteel("run", "--pyflink", "--no-check", "-q", program)
    assert (done.returncode, done.stdout) == (1, "runs\n")
    assert "there is no Flink ML" in done.stderr


def test_a_program_that_fails_in_pyflink_too_runs_up_to_there(tmp_path):
    program = tmp_path / "job.py"
    program.write_text(HEAD + "print('runs', flush=True)\nenv.magic()\n")
    done = firesteel("run", "--pyflink", "-q", program)
    assert (done.returncode, done.stdout) == (1, "runs\n")
    assert "has no attribute 'magic'" in done.stderr


def test_a_program_with_a_syntax_error_is_reported_in_one_line(tmp_path):
    program = tmp_path / "job.py"
    program.write_text("def\n")
    done = firesteel("check", program)
    assert done.returncode == 1
    assert "SyntaxError" in done.stderr


@pytest.mark.parametrize("name", ["job.ipynb", "job.json", "job.sql"])
def test_a_file_that_is_no_program_is_refused(tmp_path, name):
    (tmp_path / name).write_text("{}")
    done = firesteel("check", tmp_path / name)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is not a Python program" in done.stderr


def test_names_of_pyflink_1_are_mapped_to_their_successors(check):
    report = check(HEAD + "from pyflink.datastream import FsStateBackend\nenv.set_state_backend(FsStateBackend('x'))")
    assert lines(report["differs"]) == [(4, "FsStateBackend"), (4, "StreamExecutionEnvironment.set_state_backend")]
    assert report["differs"][1]["advice"] == "is from PyFlink 1 and works; use the option state.backend.type"
