"""Flink's own SQL client on a gateway of ours: `make flink-tools`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.session import JobManager
from tests.cli.sql_gateway import gateway_of
from tests.cli.terminal import Terminal, plain
from tests.gateway.client_classes import compile_classes
from tests.waiting import wait_for

FLINK_HOME = Path(os.environ.get("FLINK_HOME", ""))

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif("FLINK_HOME" not in os.environ, reason="no Flink: `make flink-tools` gets it, and runs this"),
]

SCRIPT = """
SET 'sql-client.execution.result-mode' = 'tableau';
CREATE TABLE sequence (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3',
  'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '3');
SHOW TABLES;
DESCRIBE sequence;
SELECT n * 2 AS twice FROM sequence;
SELECT w, COUNT(*) AS n FROM (VALUES ('a'), ('a')) AS t (w) GROUP BY w;
EXPLAIN SELECT n FROM sequence;
CREATE TABLE numbers (n INT) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv');
INSERT INTO numbers VALUES (1), (2);
SET 'table.dml-sync' = 'true';
INSERT INTO numbers VALUES (3);
BEGIN STATEMENT SET;
INSERT INTO numbers VALUES (4);
INSERT INTO numbers VALUES (5);
END;
SET 'execution.runtime-mode' = 'batch';
SELECT CAST(1.5 AS DECIMAL(10, 2)) AS a, TIMESTAMP '2024-01-02 03:04:05.123' AS b,
  CAST(TIMESTAMP '2024-01-02 03:04:05.5' AS TIMESTAMP_LTZ(3)) AS c, ARRAY[1, 2] AS d, MAP['k', 1] AS e,
  ROW(1, 'x') AS f, X'6162' AS g, CAST(NULL AS INT) AS h, INTERVAL '1-2' YEAR TO MONTH AS i,
  INTERVAL '1 02:03:04' DAY TO SECOND AS j, DATE '2024-01-02' AS k, TIME '03:04:05' AS l, TRUE AS m;
SHOW JOBS;
SELECT missing FROM sequence;
SHOW CATALOGS;
"""
VALUES = (
    "1.50 | 2024-01-02 03:04:05.123 | 2024-01-02 03:04:05.500 | [1, 2] | {k=1} | (1, x) | ab | <NULL> | +1-02 | "
    "+1 02:03:04.000 | 2024-01-02 | 03:04:05 | TRUE"
)


@pytest.fixture(scope="module")
def gateway_classes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A class path with the parts of Flink's distribution that PyFlink omits."""
    if list((FLINK_HOME / "opt").glob("flink-sql-gateway-*.jar")):
        return ""
    if shutil.which("javac") is None:
        pytest.skip("neither flink-sql-gateway.jar in FLINK_HOME/opt, nor javac for its stand-ins")
    return str(compile_classes(FLINK_HOME, tmp_path_factory.mktemp("gateway")))


@pytest.fixture
def client_command(
    tmp_path: Path, jobmanagers: Callable[..., JobManager], gateway_classes: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[list[str]]:
    monkeypatch.setenv("FLINK_LOG_DIR", str(tmp_path))
    monkeypatch.setenv("HADOOP_CLASSPATH", gateway_classes)  # the script appends it to its class path
    with gateway_of(jobmanagers(), tmp_path) as address:
        script = str(FLINK_HOME / "bin" / "sql-client.sh")
        yield ["bash", script, "gateway", "--endpoint", address, "-hist", str(tmp_path / "history")]


def test_a_script(tmp_path: Path, client_command: list[str]) -> None:
    script = tmp_path / "script.sql"
    script.write_text(SCRIPT.format(path=tmp_path / "numbers"))
    done = subprocess.run(
        [*client_command, "-f", str(script)], capture_output=True, text=True, timeout=180, check=False
    )
    said = plain(done.stdout)
    for expected in (
        "| table name | +------------+ | sequence |",
        "| name | type | null | key | extras | watermark |",
        "| +I | 2 | | +I | 4 | | +I | 6 |",
        "Received a total of 3 rows",
        "| +I | a | 1 | | -U | a | 1 | | +U | a | 2 |",
        "== Optimized Physical Plan ==",
        "[INFO] SQL update statement has been successfully submitted to the cluster:",
        VALUES,
        "1 row in set",
        "| insert-into_default_catalog.default_database.numbers | FINISHED |",
        "[ERROR] Could not execute SQL statement. Reason: [SQL validation failed.",
        "Column 'missing' not found",
    ):
        assert expected in said, done.stdout + done.stderr
    assert said.count("[INFO] Complete execution of the SQL update statement.") == 2
    assert "catalog name" not in said  # the script ends with its first error
    files = [path for path in (tmp_path / "numbers").rglob("*") if path.is_file() and not path.name.startswith(".")]
    written = sorted(line for path in files for line in path.read_text().split())
    assert written[-3:] == ["3", "4", "5"]


class FlinksTerminal(Terminal):
    """Flink's client in a terminal."""

    def statement(self, text: str) -> None:
        """Execute a statement without rows."""
        self.type(f"{text};\r")
        self.wait_for("Execute statement succeeded.")

    def states_of_jobs(self, count: int) -> list[str]:
        """The sorted states of that many jobs."""
        self.type("SHOW JOBS;\r")
        return sorted(re.findall(r"CANCELED|CANCELLING|FINISHED|RUNNING", self.wait_for(f"{count} rows in set")))

    def end(self) -> None:
        self.type("QUIT;\r")
        self.wait_for("Shutting down the session... done.")
        os.waitpid(self._process, 0)
        os.close(self._file)


def test_the_prompt(client_command: list[str]) -> None:
    terminal = FlinksTerminal(client_command)
    terminal.wait_for("Flink SQL>")
    terminal.statement("CREATE TABLE generated (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '5')")
    terminal.statement("SET 'sql-client.execution.result-mode' = 'tableau'")
    terminal.type("SELECT n FROM generated;\r")
    terminal.wait_for("| +I |")
    terminal.type("\x03")
    terminal.wait_for("Query terminated, received a total of")
    terminal.statement("SET 'sql-client.execution.result-mode' = 'table'")
    terminal.type("SELECT w, COUNT(*) AS n FROM (VALUES ('a'), ('b'), ('a')) AS t (w) GROUP BY w;\r")
    assert "SQL Query Result (Table)" in terminal.wait_for("a 2")
    terminal.type("q")
    terminal.wait_for("Result retrieval cancelled.")
    terminal.statement("SET 'sql-client.execution.result-mode' = 'changelog'")
    terminal.type("SELECT n FROM generated;\r")
    assert "SQL Query Result (Changelog)" in terminal.wait_for("+I")
    terminal.type("q")
    terminal.wait_for("Result retrieval cancelled.")
    # The client does not wait for the cancellation of a query.
    wait_for(lambda: terminal.states_of_jobs(3) == ["CANCELED", "CANCELED", "FINISHED"])
    terminal.type("DESCRIBE gene\t")
    terminal.wait_for("DESCRIBE generated")
    terminal.type(";\r")
    terminal.wait_for("1 row in set")
    terminal.end()
