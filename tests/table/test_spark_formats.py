"""Tables by a format of Spark, with the Spark of this process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from firesteel.client.spark_tables import SparkTableError
from firesteel.common import Instant, Types
from firesteel.connectors.spark.sink import SparkCommitter, SparkTarget
from firesteel.datastream.connectors.spark import SparkSink
from firesteel.entrypoint.spark_session import shared_gateway
from firesteel.functions.connector_base import CommitRequest
from firesteel.table.errors import ValidationException
from firesteel.testing import Fault, run_local
from tests.table.environments import environment
from tests.table.local_runs import create, environments, insert, read

pytestmark = pytest.mark.spark

COLUMNS = "id BIGINT, name STRING, price DECIMAL(8, 2), d DATE, wall TIMESTAMP(6)"
ROWS = [f"({n}, 'n{n}', {n}.50, DATE '2024-02-29', TIMESTAMP '2024-02-29 12:00:0{n}')" for n in range(3)]
VALUES = (
    f"SELECT CAST(a AS BIGINT), b, CAST(c AS DECIMAL(8, 2)), d, e FROM (VALUES {', '.join(ROWS)}) AS v (a, b, c, d, e)"
)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    session = SparkSession(shared_gateway({}).context())
    # Derby, which PySpark includes, would write its log to the working directory.
    log = tmp_path_factory.mktemp("derby") / "derby.log"
    session._jvm.java.lang.System.setProperty("derby.stream.error.file", str(log))
    return session


def table(format: str, path: Path | None = None, columns: str = COLUMNS, more: str = "", **options: str) -> str:
    given = {"connector": "spark", "format": format, **({} if path is None else {"path": str(path)})}
    return create("t", columns, given | options, more)


DERBY = {
    "spark.option.url": "jdbc:derby:memory:formats;create=true",
    "spark.option.driver": "org.apache.derby.jdbc.EmbeddedDriver",
    "spark.option.dbtable": "stored",
}


def test_rows_are_written_and_read(spark: SparkSession, tmp_path: Path) -> None:
    tables = {
        "parquet": table("parquet", tmp_path / "parquet"),
        "orc": table("orc", tmp_path / "orc"),
        "csv": table("csv", tmp_path / "csv", **{"spark.option.header": "true"}),
        "jdbc": table("jdbc", columns=COLUMNS.replace("TIMESTAMP(6)", "TIMESTAMP_LTZ(6)"), **DERBY),
    }
    t_env = environment("batch")
    statements = t_env.create_statement_set()
    for name, statement in tables.items():
        t_env.execute_sql(statement.replace("TABLE t ", f"TABLE {name}_t "))
        values = VALUES if name != "jdbc" else VALUES.replace(", d, e FROM", ", d, CAST(e AS TIMESTAMP_LTZ(6)) FROM")
        statements.add_insert_sql(f"INSERT INTO {name}_t {values}")
    statements.execute().wait()
    query = " UNION ALL ".join(f"SELECT '{name}', id, name, price, d FROM {name}_t WHERE id > 0" for name in tables)
    with t_env.execute_sql(query).collect() as found:
        rows = sorted(tuple(map(str, row)) for row in found)
    assert rows == sorted((f, str(n), f"n{n}", f"{n}.50", "2024-02-29") for f in tables for n in (1, 2))
    files = [path.read_text().splitlines()[0] for path in (tmp_path / "csv").glob("*.csv")]
    assert set(files) == {"id,name,price,d,wall"}
    t_env.execute_sql("INSERT OVERWRITE orc_t SELECT * FROM parquet_t WHERE id = 2").wait()
    assert [row["id"] for row in spark.read.orc(str(tmp_path / "orc")).collect()] == [2]


def test_rows_are_appended_at_each_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    env, t_env = environments()
    statement = table("orc", tmp_path / "out", "id INT, part STRING", "PARTITIONED BY (part)")
    t_env.execute_sql(statement.replace("'format'", f"'staging.path' = '{tmp_path}/staged', 'format'"))
    stream = env.from_collection([(n, f"p{n % 2}") for n in range(6)], _row_type())
    t_env.create_temporary_view("s", t_env.from_data_stream(stream))
    insert(env, t_env, "INSERT INTO t SELECT * FROM s", batch_elements=2, faults=[Fault(1, 0, 0)])
    found = spark.read.orc(str(tmp_path / "out"))
    assert sorted(row["id"] for row in found.collect()) == list(range(6))
    assert {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()} == {"part=p0", "part=p1"}
    assert list((tmp_path / "staged").rglob("*.parquet")) == []


def _row_type() -> Any:
    return Types.ROW_NAMED(["id", "part"], [Types.INT(), Types.STRING()])


BAD: list[tuple[str, str, dict[str, str], str]] = [
    ("nope", "id INT", {}, "Spark: [DATA_SOURCE_NOT_FOUND]"),
    ("parquet", "id INT", {"table": "a"}, "Unsupported options:\n\ntable"),
    ("parquet", "id STRING", {}, "Column 'id' is bigint in Spark, but STRING in the table"),
    ("parquet", "other INT", {}, "Column 'other' is not among those of Spark, id"),
    ("parquet", "id TIME", {}, "Column 'id' has the type TIME"),
]


def test_bad_tables_and_changes_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.parquet(str(tmp_path / "in"))
    for format, columns, options, message in BAD:
        with pytest.raises(ValidationException, match=re.escape(message)):
            read("SELECT * FROM t", table(format, tmp_path / "in", columns, **options))
    _, t_env = environments()
    t_env.execute_sql(table("parquet", tmp_path / "out", "id INT, n BIGINT NOT NULL"))
    with pytest.raises(Exception, match="doesn't support consuming update"):
        t_env.explain_sql("INSERT INTO t SELECT id, COUNT(*) FROM (VALUES (1)) AS v (id) GROUP BY id")


def test_a_stream_is_appended_at_each_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    env, _ = environments()
    kind = Types.ROW_NAMED(["id", "part", "at"], [Types.INT(), Types.STRING(), Types.INSTANT()])
    stream = env.from_collection([(n, f"p{n % 2}", Instant.of_epoch_milli(n)) for n in range(6)], kind)
    target = SparkSink("orc", str(tmp_path / "out"), partition_by=["part"], staging_path=str(tmp_path / "staged"))
    stream.sink_to(target)
    run_local(env, batch_elements=2, faults=[Fault(1, 0, 0)])
    found = spark.read.orc(str(tmp_path / "out")).orderBy("id").collect()
    assert [(row["id"], row["part"], row["at"].microsecond) for row in found] == [
        (n, f"p{n % 2}", 1000 * n) for n in range(6)
    ]
    assert list((tmp_path / "staged").rglob("*.parquet")) == []


def test_streams_that_spark_cannot_write_are_refused() -> None:
    env, _ = environments()
    numbers = env.from_collection([1], Types.INT())
    with pytest.raises(TypeError, match="make rows of them"):
        numbers.sink_to(SparkSink("orc", "out"))
    pairs = numbers.map(lambda n: (n, n), Types.TUPLE([Types.INT(), Types.INT()]))
    with pytest.raises(ValueError, match="no column 'x' to partition by, but f0, f1"):
        pairs.sink_to(SparkSink("orc", "out", partition_by=["x"]))
    with pytest.raises(ValueError, match="column 'a' has the type TIME"):
        env.from_collection([], Types.ROW_NAMED(["a"], [Types.SQL_TIME()])).sink_to(SparkSink("orc", "out"))
    env.get_configuration().set_string("spark.master", "spark://host:7077")
    with pytest.raises(ValueError, match="set staging_path to a directory that they share"):
        pairs.sink_to(SparkSink("orc", "out"))
    sink = SparkSink("orc", "out", staging_path="/mnt/staged")
    pairs.sink_to(sink)
    with pytest.raises(ValueError, match="a SparkSink writes one stream"):
        pairs.sink_to(sink)


def test_files_on_the_disk_of_another_host_are_an_error(tmp_path: Path) -> None:
    committer = SparkCommitter(SparkTarget("parquet", None, {}, (), False, {}))
    request = CommitRequest("job", "sink", 0, 0, [str(tmp_path / "staged" / "a-1.parquet")])
    with pytest.raises(SparkTableError, match=r"'staging\.path'"):
        committer.commit([request])
    (tmp_path / "staged").mkdir()
    (tmp_path / "staged" / "a.writer").touch()
    committer.commit([request])
