"""Metadata columns are those that a connector declares, in the types that a table declares. Decisions are Flink's."""

from __future__ import annotations

import datetime
import os
from pathlib import Path

import pytest

from firesteel.columns.type_text import type_text
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.errors import ValidationException

FILES = "'connector' = 'filesystem', 'path' = '{path}', 'format' = 'json'"


def environment(path: Path, columns: str, options: str = FILES) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql(f"CREATE TABLE t (a INT, {columns}) WITH ({options.format(path=path)})")
    return t_env


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("BIGINT", "file.size"),
        ("BIGINT NOT NULL", "file.size"),
        ("INT", "file.size"),
        ("STRING", "file.size"),
        ("BOOLEAN", "file.size"),
        ("TIMESTAMP(3)", "file.modification-time"),
        ("STRING", "file.modification-time"),
        ("BYTES", "file.path"),
        ("INT", "file.path"),
    ],
)
def test_a_column_has_the_type_that_it_declares(tmp_path: Path, kind: str, key: str) -> None:
    t_env = environment(tmp_path, f"m {kind} METADATA FROM '{key}'")
    t_env.explain_sql("SELECT * FROM t")
    assert type_text(t_env.sql_query("SELECT m FROM t").get_schema().get_field_data_types()[0]) == kind


@pytest.mark.parametrize(
    ("kind", "key"), [("DATE", "file.size"), ("BIGINT", "file.modification-time"), ("ROW<a INT>", "file.path")]
)
def test_types_that_nothing_casts_to_are_refused(tmp_path: Path, kind: str, key: str) -> None:
    t_env = environment(tmp_path, f"m {kind} METADATA FROM '{key}'")
    with pytest.raises(ValidationException, match=rf"metadata column 'm' with metadata key '{key}'.*must be castable"):
        t_env.explain_sql("SELECT * FROM t")


def test_keys_are_those_of_the_connector(tmp_path: Path) -> None:
    t_env = environment(tmp_path, "nope INT METADATA")
    with pytest.raises(ValidationException, match=r"Invalid metadata key 'nope'.*for reading:\nfile\.path\nfile\.name"):
        t_env.explain_sql("SELECT * FROM t")
    t_env = environment(tmp_path, "s INT METADATA", "'connector' = 'datagen'")
    with pytest.raises(ValidationException, match="metadata cannot be read from the given source"):
        t_env.explain_sql("SELECT * FROM t")


@pytest.mark.parametrize("connector", ["filesystem", "print", "blackhole", "jdbc"])
def test_sinks_write_only_metadata_that_they_declare(tmp_path: Path, connector: str) -> None:
    options = {
        "filesystem": FILES,
        "jdbc": "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://localhost/x', 'table-name' = 't'",
    }.get(connector, f"'connector' = '{connector}'")
    t_env = environment(tmp_path, "m INT METADATA", options)
    with pytest.raises(ValidationException, match=r"declares persistable metadata columns.*declared with the VIRTUAL"):
        t_env.explain_sql("INSERT INTO t SELECT 1, 2")


def test_virtual_columns_are_not_written(tmp_path: Path) -> None:
    t_env = environment(tmp_path, "m BIGINT METADATA FROM 'file.size' VIRTUAL")
    t_env.explain_sql("INSERT INTO t SELECT 1")


@pytest.mark.spark
def test_times_are_cast_in_the_zone_of_the_session(tmp_path: Path) -> None:
    (tmp_path / "in").write_text('{"a": 1}\n')
    os.utime(tmp_path / "in", (1_700_000_000, 1_700_000_000))
    t_env = environment(
        tmp_path,
        "`at` TIMESTAMP(3) METADATA FROM 'file.modification-time', `day` AS CAST(`at` AS DATE), "
        "s STRING METADATA FROM 'file.size'",
    )
    t_env.get_config().set("table.local-time-zone", "Asia/Shanghai")
    with t_env.execute_sql("SELECT `at`, `day`, s FROM t").collect() as rows:
        found = [list(row) for row in rows]
    local = datetime.datetime(2023, 11, 15, 6, 13, 20)
    assert found == [[local, local.date(), "9"]]
