"""Each connector has a section with a program, which runs here or in tests elsewhere."""

from __future__ import annotations

import re
import sqlite3
import sys
from contextlib import closing, nullcontext
from pathlib import Path

import pytest

from docs.generate.hooks import ROOT
from firesteel.connectors.identifiers import table_connectors
from firesteel.table.planner.parse.script import split_statements
from tests.docs.connector_servers import SERVERS, Server
from tests.table.local_runs import environments, insert, read

PAGE = (ROOT / "docs/table_connectors.md").read_text()
SECTIONS = dict(part.split("\n", 1) for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:])
SAME = {
    "kinesis-legacy": "kinesis",
    **dict.fromkeys(("elasticsearch-6", "elasticsearch-7", "elasticsearch-8", "opensearch"), "elasticsearch"),
    "rest-lookup": "http",
    "print": "print and blackhole",
    "blackhole": "print and blackhole",
}
"""Sections of several connectors."""

ROWS: dict[str, list[tuple[object, ...]]] = {
    "blackhole": [],
    "datagen": [(10,)],
    "delta": [("/a", 1)],
    "faker": [(100,)],
    "filesystem": [("/a", 8)],
    "http": [(1, "Ann"), (2, None)],
    "iceberg": [],
    "jdbc": [("chair",)],
    "kafka": [("/", 7, "Instant<1714521600, 0>")],
    "kinesis": [("/", 7)],
    "mongodb": [(1, "Ann")],
    "print": [],
    "python": [(0,), (1,), (4,)],
    "upsert-kafka": [("/", 3)],
}
"""The rows of the last query of a section, which runs as it stands but for directories and the addresses of servers."""

DOCUMENT = {"page": "/", "visited": "2024-05-01", "visits": 3}
LEFT: dict[str, object] = {
    "clickhouse": '"/",3\n',
    "elasticsearch": {"pages-2024-05": {"/_2024-05-01": DOCUMENT}},
    "firehose": '{"page":"/","user_id":7}' * 3,
    "opensearch": {"pages-2024-05": {"/_2024-05-01": DOCUMENT}},
    "redis": {"/": "3"},
}
"""What the program of a section leaves on its server, if it has no query."""

ELSEWHERE = {
    "mysql-cdc": "examples/mysql_cdc.py, which `make cdc-faults` runs",
    "postgres-cdc": "examples/postgres_cdc.py, which `make cdc-faults` runs",
    "savepoint": "test_savepoint_tables.py: it needs the checkpoint of a job when it is planned",
    "spark": "test_spark_tables.py: it needs Spark when it is planned",
    "state": "test_state_tables.py: it needs a running job",
}
"""Sections whose program is run elsewhere."""

BESIDE = {
    "clicks": "CREATE TABLE clicks (page STRING, user_id BIGINT, ts TIMESTAMP(0)) WITH ('connector' = 'filesystem', "
    "'path' = '/data/beside', 'format' = 'json')",
    "orders": "CREATE VIEW orders AS SELECT *, PROCTIME() AS proctime FROM "
    "(VALUES (1, 'u1', 'c1'), (2, 'u2', 'c2')) AS v (id, user_id, customer)",
}
"""Tables that programs read and do not create."""


def program(section: str) -> list[str]:
    """Return the statements of the first block of SQL in a section, with the tables that it needs before them."""
    [block, *_] = re.findall(r"^```sql\n(.*?)^```$", SECTIONS[section], re.MULTILINE | re.DOTALL)
    statements = [statement.text for statement in split_statements(block)]
    created = re.findall(r"CREATE TABLE (\w+)", block)
    read_there = re.findall(r"FROM (\w+)", block)
    beside = [text for name, text in BESIDE.items() if name in read_there and name not in created]
    return [*beside, *statements]


def section_of(connector: str) -> str:
    return SAME.get(connector, connector)


def test_each_connector_has_a_section_with_a_program() -> None:
    run = {section_of(name) for name in (*ROWS, *LEFT)}
    assert run | {*ELSEWHERE} == {section_of(name) for name in table_connectors()}
    for connector in table_connectors():
        text = SECTIONS[section_of(connector)]
        assert "```sql" in text or "```python" in text, connector
        assert f"`{connector}`" in text or f"'connector' = '{connector}'" in text or section_of(connector) == connector


@pytest.mark.slow
@pytest.mark.parametrize("connector", sorted({**ROWS, **LEFT}))
def test_programs_of_sections_run(connector: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(connector, tmp_path, monkeypatch)
    with SERVERS.get(connector, lambda: nullcontext(Server({})))() as server:
        rows = run(program(section_of(connector)), {"/data": str(tmp_path), **server.texts})
        assert rows[-len(ROWS.get(connector, ())) :] == ROWS.get(connector, [])
        assert server.left() == LEFT.get(connector)


def run(statements: list[str], texts: dict[str, str]) -> list[tuple[object, ...]]:
    """Run a program, with other texts than those of the page, and return the rows of its last query."""
    done: list[str] = []
    rows: list[tuple[object, ...]] = []
    for statement in statements:
        for shown, there in texts.items():
            statement = statement.replace(shown, there)
        if statement.startswith("INSERT"):
            run_insert(statement, done)
        elif statement.startswith("SELECT"):
            rows = read(statement, *done, batches=2)
        else:
            done.append(statement)
    return [tuple(str(v) if "Instant" in str(v) else v for v in row) for row in rows]


def prepare(connector: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make what the program of a section finds."""
    (directory / "beside").mkdir()
    (directory / "beside/a.json").write_text('{"page": "/", "user_id": 7, "ts": "2024-05-01 12:00:00"}\n' * 3)
    if connector == "jdbc":
        with closing(sqlite3.connect(directory / "shop.db")) as connection, connection:
            connection.execute("CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT)")
    if connector == "python":
        [module] = re.findall(r"^```python\n(.*?)^```$", SECTIONS[connector], re.MULTILINE | re.DOTALL)
        (directory / "squares.py").write_text(module)
        monkeypatch.syspath_prepend(directory)
        monkeypatch.delitem(sys.modules, "squares", raising=False)


def run_insert(statement: str, created: list[str]) -> None:
    env, t_env = environments()
    for each in created:
        t_env.execute_sql(each)
    insert(env, t_env, statement)
