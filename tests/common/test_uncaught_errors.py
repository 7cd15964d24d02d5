"""What `python job.py` shows of an error that ends it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SETUP = """
import sys
from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
tables = StreamTableEnvironment.create(env)
numbers = env.from_collection([1], Types.LONG())

def mistake():
    {}

mistake()
"""

OURS = {
    "numbers.map(lambda number: number, 'LONG')": "TypeError: a type is declared by Types",
    "numbers.mapp(lambda number: number)": "AttributeError: 'DataStream' object has no attribute 'mapp'; did you mean",
    "tables.execute_sql('SELCT 1')": "SqlParserException: SQL parse failed",
    "tables.sql_query('SELECT a FROM nowhere')": "ValidationException: SQL validation failed",
    "env.execute()": "InvalidProgramError: No operators defined",
    "env.set_parallelism(0)": "ValueError: ",
}
"""Mistakes, each with the beginning of the first line on standard error."""


def run(tmp_path: Path, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "job.py"
    program.write_text(text)
    return subprocess.run([sys.executable, *flags, str(program)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("mistake", OURS)
def test_the_message_comes_first_and_then_the_lines_of_the_program(mistake: str, tmp_path: Path) -> None:
    text = SETUP.format(mistake)
    if mistake == "env.execute()":
        text = text.replace("numbers =", "# numbers =")
    done = run(tmp_path, text)
    lines = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert lines[0].startswith(OURS[mistake])
    assert lines[-3] == f"  at {tmp_path / 'job.py'}:12 in mistake: {mistake}"
    assert lines[-2] == f"  at {tmp_path / 'job.py'}:14 in <module>: mistake()"
    assert lines[-1] == f"(python -X dev {tmp_path / 'job.py'} shows the whole traceback)"
    assert "Traceback" not in done.stderr


def test_errors_of_the_program_itself_and_hooks_of_its_own_stay_pythons(tmp_path: Path) -> None:
    own = run(tmp_path, SETUP.format("1 / 0")).stderr
    assert own.startswith("Traceback (most recent call last)")
    assert own.endswith("ZeroDivisionError: division by zero\n")
    hook = "sys.excepthook = lambda kind, error, trace: print('mine', kind.__name__)\n    tables.execute_sql('SELCT')"
    assert run(tmp_path, SETUP.format(hook)).stdout == "mine SqlParserException\n"
    caught = (
        "try: tables.execute_sql('SELCT')\n    except Exception as error: print(type(error).__name__)\n    sys.exit(0)"
    )
    assert run(tmp_path, SETUP.format(caught)).stdout == "SqlParserException\n"
    whole = run(tmp_path, SETUP.format("tables.execute_sql('SELCT')"), "-X", "dev").stderr
    assert "Traceback (most recent call last)" in whole


def test_a_deep_recursion_does_not_fill_the_screen(tmp_path: Path) -> None:
    text = SETUP.format("deep(50)") + "\n"
    text = text.replace(
        "def mistake", "def deep(n):\n    deep(n - 1) if n else tables.execute_sql('SELCT')\n\ndef mistake"
    )
    lines = run(tmp_path, text).stderr.splitlines()
    assert len(lines) < 16
    assert lines[-2] == "  called from 45 more lines"


FILLED = {
    "tables.create_statement_set().add_insert_sql('INSERT INTO sink SELECT 1')": "statement_set.execute()",
    "tables.sql_query('SELECT 1').insert_into('sink')": "table.insert_into(...).execute()",
    "tables.create_statement_set().add(tables.sql_query('SELECT 1').insert_into('sink'))": "statement_set.execute()",
    "tables.create_statement_set().add_insert_sql('INSERT INTO sink SELECT 1').explain()": None,
    "tables.create_statement_set().add_insert_sql('INSERT INTO sink SELECT 1').attach_as_datastream()": "env.execute()",
    "tables.create_statement_set().add_insert_sql('INSERT INTO sink SELECT 1').compile_plan()": None,
    "tables.sql_query('SELECT 1').insert_into('sink').print_explain()": None,
}
"""What a table program defines, and the call that its user has forgotten; None after one that asks for a plan."""


@pytest.mark.parametrize("defined", FILLED)
def test_inserts_that_are_never_executed_are_missed(defined: str, tmp_path: Path) -> None:
    sink = "tables.execute_sql(\"CREATE TABLE sink (a INT) WITH ('connector' = 'blackhole')\")"
    text = SETUP.format(f"{sink}\n    {defined}").replace("numbers =", "# numbers =")
    if "attach" not in defined:  # A program without DataStreams.
        text = text.replace("env =", "# env =").replace(
            "StreamTableEnvironment.create(env)", "TableEnvironment.create(EnvironmentSettings.in_streaming_mode())"
        )
    call = FILLED[defined]
    expected = "" if call is None else f"No job was executed: is {call} missing?\n"
    assert run(tmp_path, text).stderr == expected
