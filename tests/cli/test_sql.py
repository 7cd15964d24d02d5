"""The command `firesteel sql`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.cli.sql_script import split_statements
from tests.cli.session import JobManager, firesteel

pytestmark = pytest.mark.slow

SCRIPT = """-- Words; counted.
SET 'parallelism.default' = '1';
CREATE TABLE words (word STRING) WITH (
  'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');
EXECUTE STATEMENT SET BEGIN
  INSERT INTO words VALUES ('a;'), ('b');
  INSERT INTO words VALUES ('a;');
END;
SET 'table.dml-sync' = 'true';
INSERT INTO words VALUES ('b');
SELECT missing
  FROM words;
SHOW TABLES;
"""


def test_scripts_are_split_at_semicolons_outside_of_strings_comments_and_statement_sets() -> None:
    found = list(split_statements(SCRIPT + "SELECT `;` /* ; */ FROM t"))
    assert [statement.line for statement in found] == [2, 3, 5, 9, 10, 11, 13, 14]
    assert found[2].text.endswith("END")
    assert [statement.is_complete for statement in found] == [True] * 7 + [False]
    (unfinished,) = split_statements("SELECT 'a;\n")
    assert not unfinished.is_complete


@pytest.mark.spark
def test_a_file_runs_up_to_the_first_error(tmp_path: Path) -> None:
    script = tmp_path / "words.sql"
    script.write_text(SCRIPT.format(path=tmp_path / "words"))
    done = firesteel("sql", "--mode", "batch", "-f", str(script), check=False)
    assert done.returncode == 1
    assert f"[ERROR] Could not execute SQL statement of {script}, line 11. Reason:" in done.stderr
    assert "Column 'missing' not found" in done.stderr
    assert "is FINISHED" in done.stderr
    assert done.stdout.count("Job ID: ") == 2
    assert "[INFO] Complete execution of the SQL update statement." in done.stdout
    assert "table name" not in done.stdout


@pytest.mark.spark
def test_a_file_whose_inserts_wait_for_their_jobs_succeeds(tmp_path: Path) -> None:
    script = tmp_path / "insert.sql"
    insert = "INSERT INTO t VALUES (1);\n"
    table = "CREATE TABLE t (n INT) WITH ('connector' = 'blackhole');\n"
    script.write_text(f"SET 'table.dml-sync' = 'true';\n{table}{insert}{insert}")
    done = firesteel("sql", "-f", str(script))
    assert done.stdout.count("[INFO] Complete execution of the SQL update statement.") == 2
    assert done.stderr.count("is FINISHED") == 2
    assert "ERROR" not in done.stderr


@pytest.mark.spark
def test_statements_of_the_command_line_follow_those_of_the_init_file(tmp_path: Path) -> None:
    init = tmp_path / "init.sql"
    init.write_text("CREATE VIEW words AS SELECT * FROM (VALUES ('a'), ('b'), ('a')) AS t (word);")
    query = "SELECT word, COUNT(*) AS n FROM words GROUP BY word"
    statements = f"{query}; SET 'execution.runtime-mode' = 'batch'; {query}; RESET; SET 'execution.runtime-mode'"
    done = firesteel("sql", "-D", "parallelism.default=1", "-i", str(init), "-e", statements)
    assert "| -U |                              a |                    1 |" in done.stdout
    assert "Received a total of 4 rows" in done.stdout
    assert "|    a | 2 |\n|    b | 1 |\n+------+---+\n2 rows in set" in done.stdout
    assert "| execution.runtime-mode | STREAMING |" in done.stdout


@pytest.mark.spark
def test_an_interrupt_ends_the_query_and_not_the_client() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "firesteel", "sql", "-D", "parallelism.default=1"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        bufsize=1,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job's children ignore it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("CREATE TABLE t (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '2');\n")
    process.stdin.write("SELECT n\n  FROM t;\n")
    while not process.stdout.readline().startswith("| +I |"):
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate("SHOW TABLES;\nQUIT;\n", timeout=60)
    assert "Query terminated." in rest
    assert "1 row in set" in rest
    assert process.returncode == 0


@pytest.mark.spark
def test_jobs_run_on_a_session_cluster(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    cluster = jobmanagers()
    table = f"CREATE TABLE t (n INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path / 'out'}', 'format' = 'csv')"
    insert = "SET 'table.dml-sync' = 'true'; SET 'pipeline.name' = 'numbers'; INSERT INTO t VALUES (1), (2)"
    count = "SET 'execution.runtime-mode' = 'batch'; SELECT COUNT(*) AS n FROM t"
    done = firesteel("sql", "-m", cluster.address, "-e", f"{table}; {insert}; {count}; SHOW JOBS")
    assert "| 2 |\n+---+\n1 row in set" in done.stdout
    assert "| numbers | FINISHED |" in " ".join(done.stdout.split())


def test_invalid_usage_is_reported() -> None:
    done = firesteel("sql", "-f", __file__, "-e", "SHOW TABLES", check=False)
    assert done.returncode == 2
    done = firesteel("sql", "-D", "execution.runtime-mode=never", "-e", "SHOW TABLES", check=False)
    assert done.returncode == 2
    assert "'never' is unknown; allowed: STREAMING, BATCH" in done.stderr
    done = firesteel("sql", "-D", "execution.runtime-mode=automatic", "-e", "SHOW TABLES", check=False)
    assert done.returncode == 1
    assert "allowed: streaming, batch" in done.stderr
