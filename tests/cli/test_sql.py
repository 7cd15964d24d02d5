"""The command `firesteel sql`."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.table.planner.parse.script import in_one_line, split_statements
from tests.cli.session import JobManager, firesteel
from tests.cli.terminal import Terminal

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


@pytest.mark.spark
def test_results_are_live_on_a_terminal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "firesteel", "sql", "--result-mode", "table", "-D", "parallelism.default=1"]
    terminal = Terminal(command, XDG_STATE_HOME=str(tmp_path))
    terminal.wait_for("firesteel SQL>")
    numbers = "'connector' = 'datagen', 'rows-per-second' = '50', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1'"
    terminal.type(f"CREATE TABLE t (n INT) WITH ({numbers}, 'fields.n.end' = '100000');\r")
    terminal.wait_for("Execute statement succeeded.")
    terminal.type("SELECT MOD(n, 50) AS k, COUNT(*) AS c FROM t GROUP BY MOD(n, 50);\r")
    terminal.wait_for("SQL Query Result (Table) Page last of 2, 50 rows running")
    terminal.type("1")
    terminal.wait_for("k ▲ c 0 ")
    terminal.type("1")
    terminal.wait_for("k ▼ c 49 ")
    terminal.type("n")
    terminal.wait_for("k ▼ c 16 ")
    terminal.type("g")
    terminal.wait_for("Enter page number: [1 to 2]")
    terminal.type("1\r")
    terminal.wait_for("Page 1 of 2, 50 rows running Refresh: 1 s Updated: ")
    terminal.type("x")
    terminal.wait_for("Page 1 of 2, 50 rows stopped")
    terminal.type("q")
    printed = terminal.wait_for("changes")
    cells = re.findall(r"\| (\d+) \| (\d+) \|", printed)
    received = sum(int(count) for _, count in cells)  # the query counts, so nothing that it counted is lost
    assert [int(key) for key, _ in cells] == list(range(49, -1, -1))
    assert f"50 of 50 rows, out of {2 * received - 50:,} changes" in printed
    terminal.type("SET 'sql-client.execution.result-mode' = 'changelog';\r")
    terminal.wait_for("Execute statement succeeded.")
    terminal.type("SELECT n FROM t;\r")
    terminal.wait_for("SQL Query Result (Changelog) Page last of ")
    terminal.wait_for("op n +I ")  # on any page: a slow machine draws its first one late
    terminal.type("\x03")
    terminal.wait_for("changes")
    terminal.type("SHOW JOBS;\r")
    assert terminal.wait_for("2 rows in set").count("| collect | CANCELED |") == 2
    terminal.type("QUIT;\r")
    assert terminal.close() == 0


def test_live_results_need_a_prompt_on_a_terminal() -> None:
    done = firesteel("sql", "--result-mode", "changelog", "-e", "SELECT 1", check=False)
    assert done.returncode == 1
    assert "sql-client.execution.result-mode is 'changelog', which needs a prompt on a terminal" in done.stderr


def test_invalid_usage_is_reported() -> None:
    done = firesteel("sql", "-f", __file__, "-e", "SHOW TABLES", check=False)
    assert done.returncode == 2
    done = firesteel("sql", "-D", "execution.runtime-mode=never", "-e", "SHOW TABLES", check=False)
    assert done.returncode == 2
    assert "'never' is unknown; allowed: STREAMING, BATCH" in done.stderr
    done = firesteel("sql", "-D", "execution.runtime-mode=automatic", "-e", "SHOW TABLES", check=False)
    assert done.returncode == 1
    assert "allowed: streaming, batch" in done.stderr


def test_the_prompt_takes_commands_without_a_semicolon_and_says_what_is_meant() -> None:
    lines = ["help", "\\timing", "selct 1;", "SELECT cuont(*) FROM (VALUES (1)) AS t (a);", "SET 'foo.bar' = 'x';"]
    lines += ["SELECT 1 FORM t;", "SHOW DATABASES;", "quit"]
    done = firesteel("sql", text="\n".join(lines) + "\n")
    assert done.returncode == 0
    assert "HELP              Print the available commands." in done.stdout
    assert "Time: " in done.stdout
    assert "there is no option 'foo.bar'" in done.stdout
    assert "Exiting firesteel SQL client" in done.stdout
    assert 'Encountered "selct" at line 1, column 1 (did you mean "SELECT"?).' in done.stderr
    assert "ALTER" not in done.stderr
    assert "No match found for function signature cuont(*); did you mean COUNT?" in done.stderr
    assert '("FORM" before it: did you mean "FROM"?)' in done.stderr


def test_rows_for_programs_have_no_prompt_among_them_and_the_last_statement_needs_no_semicolon() -> None:
    done = firesteel("sql", "--output", "json", text="help\nSHOW CATALOGS;\nSHOW\n  DATABASES")
    assert list(map(json.loads, done.stdout.splitlines())) == [
        {"catalog name": "default_catalog"},
        {"database name": "default_database"},
    ]
    assert "HELP              Print the available commands." in done.stderr


def test_a_file_is_a_text_in_utf_8(tmp_path: Path) -> None:
    script = tmp_path / "script.sql"
    script.write_bytes(b"\xef\xbb\xbfSHOW CATALOGS")  # as some editors begin it
    assert "default_catalog" in firesteel("sql", "-f", str(script)).stdout
    script.write_bytes(b"SELECT 'caf\xe9'")
    done = firesteel("sql", "-i", str(script), "-e", "SHOW CATALOGS", check=False)
    assert done.returncode == 1
    assert f"{script} is not a text in UTF-8: invalid continuation byte at byte 11" in done.stderr


def test_commands_inside_a_statement_are_hinted_at_and_words_with_a_backslash_are_commands() -> None:
    lines = ["\\d", "SHOW", "quit", "DATABASES;", "SELECT", "help", "FROM", "t", ";", "\\q"]
    done = firesteel("sql", text="\n".join(lines) + "\n")
    assert done.returncode == 0
    assert "there is no command \\d; HELP lists the commands" in done.stderr
    assert "[INFO] quit is taken for a part of the statement before it; end that with a semicolon" in done.stderr
    assert "[INFO] help is taken for a part of the statement" in done.stderr
    assert "Object 't' not found" in done.stderr  # `help` was a column
    assert "Exiting firesteel SQL client" in done.stdout


@pytest.mark.spark
def test_rows_for_programs_are_alone_on_standard_output() -> None:
    query = (
        "SET 'table.local-time-zone' = 'UTC'; SELECT 1 AS a, 'x,\"y' AS b, CAST(NULL AS INT) AS c, 1.50 AS d, "
        "TIMESTAMP '2020-01-01 00:00:00' AS e, ARRAY[1, 2] AS f, MAP['k', DATE '2020-02-02'] AS g, "
        "CAST(ROW(1, 'z') AS ROW<n INT, s STRING>) AS h, x'0aff' AS i; SHOW DATABASES"
    )
    done = firesteel("sql", "--output", "json", "-e", query)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert rows[0] == {
        "op": "+I",
        "a": 1,
        "b": 'x,"y',
        "c": None,
        "d": "1.50",
        "e": "2020-01-01 00:00:00",
        "f": [1, 2],
        "g": {"k": "2020-02-02"},
        "h": {"n": 1, "s": "z"},
        "i": rows[0]["i"],
    }
    assert rows[1:] == [{"database name": "default_database"}]
    assert "[INFO] Execute statement succeeded." in done.stderr
    done = firesteel("sql", "--output", "csv", "--mode", "batch", "-e", query)
    first, second, *rest = csv.reader(done.stdout.splitlines())
    assert first == list("abcdefghi")
    assert second[:5] == ["1", 'x,"y', "", "1.50", "2020-01-01 00:00:00"]
    assert rest == [["database name"], ["default_database"]]


def test_history_has_whole_statements_in_one_line() -> None:
    assert in_one_line("SELECT a, -- the first\n  b\nFROM t /* all\n of it */ WHERE a > 1") == (
        "SELECT a, b FROM t WHERE a > 1"
    )
    assert in_one_line("SELECT 'two  spaces'") == "SELECT 'two  spaces'"


@pytest.mark.spark
def test_an_error_of_a_statement_names_no_file_of_a_library() -> None:
    done = firesteel("sql", "-e", "SELECT CAST('x' AS INT)", check=False)
    assert done.returncode == 1
    assert "For input string: 'x'" in done.stderr
    assert ".py" not in done.stderr
