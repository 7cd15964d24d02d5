"""Trials of `firesteel check`: programs that run up to their plans, without network."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.jars import REPLACED, jar_advice
from firesteel.connectors.identifiers import table_connectors, table_formats
from tests.processes import command_line
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

STREAMS = """
from pyflink.datastream import StreamExecutionEnvironment
env = StreamExecutionEnvironment.get_execution_environment()
"""
TABLES = """
from pyflink.table import EnvironmentSettings, TableEnvironment
t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
"""


def firesteel(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "firesteel", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.fixture
def check(tmp_path: Path) -> Any:
    def run(text: str, *arguments: object) -> dict[str, Any]:
        program = tmp_path / "job.py"
        program.write_text(textwrap.dedent(text).lstrip())
        done = firesteel("check", "--timeout", 30, "--output", "json", program, *arguments)
        assert not done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == bool(report["missing"] or report["fails"])
        return report

    return run


def reports(directory: Path, texts: Sequence[str], timeout_s: float = 30) -> list[dict[str, Any]]:
    """Check programs in one run, as the command starts for longer than most of them run."""
    for number, text in enumerate(texts):
        (directory / f"program_{number:02}.py").write_text(text)
    done = firesteel("check", "--timeout", timeout_s, "--output", "json", directory)
    programs: list[dict[str, Any]] = json.loads(done.stdout)["programs"]
    assert len(programs) == len(texts)
    return sorted(programs, key=lambda program: program["file"])


def found(report: dict[str, Any], kind: str) -> list[tuple[int, str]]:
    return [(one["line"], one["name"]) for one in report[kind]]


def test_each_job_is_planned_and_none_is_run(check, tmp_path):
    report = check(
        f"""{STREAMS}
env.from_collection([1]).map(lambda n: open({str(tmp_path / "made")!r}, "w")).print()
env.execute("first")
env.from_collection([1]).print()
job = env.execute_async("second")
assert job.get_job_execution_result().result().get_job_id() == job.get_job_id()
assert list(env.from_collection([1, 2]).execute_and_collect()) == []
"""
    )
    assert [(job["line"], job["name"]) for job in report["jobs"]][:2] == [(5, "first"), (7, "second")]
    assert len(report["jobs"]) == 3
    assert report["fails"] == report["unchecked"] == []
    assert not (tmp_path / "made").exists()


def test_it_goes_on_after_each_statement_that_fails(check):
    report = check(
        f"""{TABLES}
t_env.get_config().set("table.exec.mini-batch.enabledd", "true")
t_env.execute_sql("CREATE TABLE a (id INT) WITH ('connector' = 'pulsar')")
t_env.execute_sql("CREATE TABLE b (id INT) WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO b SELECT id FROM a").wait()
t_env.execute_sql("CREATE TABLE c (id INTT) WITH ('connector' = 'print')")
t_env.execute_sql("INSERT INTO c SELECT 1")
t_env.execute_sql("CREATE TABLE d (id INT) WITH ('connector' = 'datagen', 'rows' = '1')")
t_env.execute_sql("SELECT * FROM d").print()
t_env.execute_sql("INSERT INTO b VALUES (1)")
"""
    )
    assert found(report, "fails") == [
        (4, "InvalidOptionError"),
        (7, "ValidationException"),
        (8, "SqlParserException"),
        (11, "ValidationException"),
    ]
    assert "factory for identifier 'pulsar'" in report["fails"][1]["advice"]
    assert found(report, "unchecked") == [(9, "c")]  # It follows from line 8.
    assert [job["line"] for job in report["jobs"]] == [12]


def test_what_a_failed_statement_returns_can_be_used(check):
    statements = ["SELECT * FROM nowhere", "INSERT INTO nowhere VALUES (1)"]
    uses = "\nr.print()\nr.get_job_client().get_job_status().result()\nr.wait()\nlist(r.collect())\n"
    report = check(TABLES + "".join(f"r = t_env.execute_sql({statement!r}){uses}" for statement in statements))
    assert (len(report["fails"]), report["unchecked"]) == (2, [])


STOPPED = [
    ("import urllib.request\nurllib.request.urlopen('http://localhost:1')", "unchecked", "without network"),
    ("import socket\nsocket.create_connection(('127.0.0.1', 1))", "unchecked", "127.0.0.1"),
    ("import nobody_has_this", "unchecked", "No module named 'nobody_has_this'"),
    ("raise SystemExit(2)", "unchecked", "does it need arguments?"),
    ("open('/nowhere/at/all')", "unchecked", "FileNotFoundError"),
    ("input()", "unchecked", "without input"),
    ("import os\nos.kill(os.getpid(), 9)", "unchecked", "SIGKILL"),
    (STREAMS + "env.magic()", "fails", "'StreamExecutionEnvironment' object has no attribute 'magic'"),
    (STREAMS + "env.set_parallelism(1, 2)", "fails", "positional arguments"),
    (STREAMS + "env.set_parallelism('x')", "fails", ""),
    ("import pyflink.zork", "fails", "No module named 'pyflink.zork'"),
    (STREAMS + "env.execute()", "fails", "No operators defined"),
]
"""(program, what the report says of it, a part of the reason)."""


def test_what_stops_a_program_is_told_apart(tmp_path):
    # A directory is searched for programs of PyFlink.
    found = reports(tmp_path, [text if STREAMS in text else STREAMS + text for text, _, _ in STOPPED])
    for (text, kind, part), report in zip(STOPPED, found, strict=True):
        assert [part in one["advice"] for one in report[kind]] == [True], text
        assert len(report["fails"]) + len(report["unchecked"]) == 1, text


def test_arguments_reach_the_program(check):
    assert check("import sys\nassert sys.argv[1:] == ['--a', 'b'], sys.argv", "--a", "b")["unchecked"] == []


def test_the_time_limit_names_the_line(tmp_path):
    program = tmp_path / "job.py"
    program.write_text("import time\nwhile True:\n    time.sleep(0.1)\n")
    done = firesteel("check", "--timeout", 1, program)
    assert done.returncode == 0
    assert f"{program}:3: what follows: the program had not ended after 1 s" in done.stdout


def test_a_trial_ends_with_the_check_that_is_killed(tmp_path):
    program = tmp_path / "job.py"
    program.write_text(
        f"import os, time\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    )
    check = subprocess.Popen([sys.executable, "-m", "firesteel", "check", "--timeout", "300", program])
    pid = wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    check.kill()
    check.wait()
    wait_for(lambda: not command_line(int(pid)))


def test_a_name_that_the_program_gets_past_is_not_missing(check):
    text = """
from pyflink.ml import Table
try:
    Table()
except NotImplementedError:
    pass
"""
    assert check(text)["missing"] == []
    assert found(check("from pyflink.ml import Table\nTable()"), "missing") == [(2, "pyflink.ml.Table")]
    uncalled = STREAMS + "from pyflink.ml import Table\nenv.from_collection([1]).map(lambda n: Table()).print()"
    assert found(check(uncalled), "missing") == [(4, "pyflink.ml.Table")]


def test_notes_of_the_library_are_differences(check):
    report = check(STREAMS + "env.set_state_backend(None)\nenv.get_config().set_auto_watermark_interval(3)")
    assert [one["line"] for one in report["differs"]] == [3]


def test_a_directory_is_reported_program_by_program(tmp_path):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "works.py").write_text(
        STREAMS + "from helper import f\nenv.from_collection([1]).print()\nenv.execute()"
    )
    (tmp_path / "part" / "helper.py").write_text("from pyflink.common import Types\nf = 1")
    (tmp_path / "lacks.py").write_text("from pyflink.ml import Table\nTable()")
    (tmp_path / "torn.py").write_text("import pyflink\ndef")
    (tmp_path / "other.py").write_text("import json")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "deep").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "streams.py").write_text(STREAMS + "names = env.from_collection([1])")
    (tmp_path / "below" / "deep" / "indirect.py").write_text(
        "from lib.streams import env, names\nnames.print()\nenv.execute()"
    )
    (tmp_path / "kafka.py").write_text("from pyflink.datastream.connectors import kafka")
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "pyvenv.cfg").write_text("")
    (tmp_path / "venv" / "x.py").write_text("import pyflink")
    done = firesteel("check", "--output", "json", tmp_path)
    report = json.loads(done.stdout)
    assert done.returncode == 1
    found = {Path(one["file"]).name: one["verdict"] for one in report["programs"]}
    working = {"indirect.py": "works", "kafka.py": "works", "works.py": "works"}
    assert found == {**working, "lacks.py": "missing", "torn.py": "unreadable"}
    assert report["summary"] == {"missing": 1, "works": 3, "unreadable": 1}
    text = firesteel("check", tmp_path).stdout
    assert f"works: {tmp_path / 'part' / 'works.py'} (1 job)" in text
    assert text.endswith("5 programs: 3 works, 1 missing, 1 unreadable\n")
    page = firesteel("check", "--static", "--output", "html", tmp_path).stdout
    assert "there is no Flink ML" in page
    assert page.count("<details>") == 5
    late = firesteel("check", "--static", tmp_path, "--output", "json")
    assert json.loads(late.stdout)["programs"][0].keys() == report["programs"][0].keys()
    late = firesteel("check", tmp_path, tmp_path / "part")
    assert late.returncode == 2
    assert "part follows the directory" in late.stderr
    assert "No such option '--format'" in firesteel("check", tmp_path, "--format", "html").stderr


def test_advice_on_jars_knows_what_tables_have():
    known = {*table_connectors(), *table_formats("files"), *table_formats("messages")}
    for one in REPLACED:
        assert set(one.tables) <= known, one.name
        assert bool(one.tables) == any(one.name.lower() in identifier for identifier in known) or one.tables, one.name
    assert "not supported in tables" in jar_advice("flink-sql-orc-1.20.jar")
    assert jar_advice("flink-orc-1.20.jar").startswith("not needed in a DataStream program")
    assert jar_advice("flink-sql-connector-kinesis-4.3.jar") == "not needed: Kinesis is built in"
    assert jar_advice("flink-sql-connector-kafka-3.0.jar") == "not needed: Kafka is built in"


def test_programs_of_pyflink_1_are_tried_beyond_statements_that_fail(check):
    report = check(
        """
        from pyflink.table import BatchTableEnvironment, EnvironmentSettings
        settings = EnvironmentSettings.new_instance().in_batch_mode().use_blink_planner().build()
        t_env = BatchTableEnvironment.create(environment_settings=settings)
        t_env.sql_update("CREATE TABLE a (id INT) WITH ('connector.type' = 'hbase')")
        t_env.sql_update("CREATE TABLE b (id BIGINT) WITH ('connector' = 'blackhole')")
        t_env.from_elements([(1,)], ["id"]).select("id +").insert_into("b")
        """
    )
    assert found(report, "fails") == [(4, "ValidationException"), (6, "ExpressionParserException")]
    assert "use_blink_planner" in str(report["differs"])
    report = check(
        """
        from pyflink.table import EnvironmentSettings, TableEnvironment
        t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        t_env.sql_update("CREATE TABLE b (id BIGINT) WITH ('connector' = 'blackhole')")
        t_env.from_elements([(1,)], ["id"]).select("id + 1L as id").insert_into("b")
        t_env.execute("copy")
        """
    )
    assert [job["name"] for job in report["jobs"]] == ["copy"]
    assert not report["fails"]


ENDINGS = {
    "while True:\n    print(next(rows))": [],
    "print(next(rows))\nprint('later')": [(5, "what follows")],
    "import time\nwhile True:\n    time.sleep(0.1)\nprint('never')": [],
}


def test_a_program_that_runs_for_ever_after_its_job_is_checked(tmp_path):
    begin = f"{STREAMS}rows = env.from_collection([1]).execute_and_collect()\n"
    checked = reports(tmp_path, [f"{begin}{ending}\n" for ending in ENDINGS], timeout_s=10)
    assert [found(report, "unchecked") for report in checked] == list(ENDINGS.values())
    assert [len(report["jobs"]) for report in checked] == [1, 1, 1]


WAITS = {
    "env.execute()": "unchecked",
    "t_env.execute_sql('INSERT INTO copy SELECT n FROM endless').wait()": "unchecked",
    "t_env.execute_sql('INSERT INTO copy SELECT n FROM short').wait()": "fails",
    "env.execute_async()": "fails",
}


def test_what_follows_a_job_that_never_ends_does_not_fail(tmp_path):
    begin = f"""{STREAMS}
from pyflink.table import StreamTableEnvironment
t_env = StreamTableEnvironment.create(env)
t_env.execute_sql("CREATE TABLE endless (n INT) WITH ('connector' = 'datagen')")
t_env.execute_sql("CREATE TABLE short (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '1')")
t_env.execute_sql("CREATE TABLE copy (n INT) WITH ('connector' = 'print')")
t_env.to_data_stream(t_env.from_path("endless")).print()
"""
    programs = [f'{begin}{waits}\nt_env.execute_sql("SELECT m FROM short")\n' for waits in WAITS]
    for report, (waits, kind) in zip(reports(tmp_path, programs), WAITS.items(), strict=True):
        counts = {name: len(report[name]) for name in ("unchecked", "fails")}
        assert counts == {"unchecked": 0, "fails": 0, kind: 1}, waits
