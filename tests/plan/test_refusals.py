"""EXPLAIN, `firesteel plan` and a submission refuse the same programs, with the same error."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.errors import FiresteelError
from firesteel.plan import load_plan_source
from firesteel.table import EnvironmentSettings, TableEnvironment

TABLES = """
CREATE TABLE numbers (n INT, s STRING) WITH ('connector' = 'datagen');
CREATE TABLE files (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'json');
CREATE TABLE strange (n BIGINT) WITH ('connector' = 'filesystem', 'path' = '/nowhere', 'format' = 'json', 'x' = '1');
CREATE TABLE nothing (n BIGINT) WITH ('connector' = 'blackhole')
"""
INSERT = "INSERT INTO nothing SELECT n FROM numbers"
REFUSED: dict[str, tuple[str, dict[str, str], str]] = {
    "updates": ("INSERT INTO files SELECT COUNT(*) FROM numbers", {}, "consuming update changes"),
    "options of a table": ("INSERT INTO strange SELECT n FROM numbers", {}, "Unsupported options"),
    "types": ("INSERT INTO nothing SELECT s FROM numbers", {}, "do not match"),
    "retained": (INSERT, {"execution.checkpointing.num-retained": "0"}, "num-retained"),
    "restarts": (INSERT, {"restart-strategy.type": "sometimes"}, "restart-strategy"),
    "interval": (INSERT, {"execution.checkpointing.interval": "soon"}, "interval"),
    "backend": (INSERT, {"state.backend.type": "memory"}, "state.backend.type"),
    "time to live": (INSERT, {"table.exec.state.ttl": "long"}, "long"),
    "parallelism": (INSERT, {"parallelism.default": "-2"}, "parallelism"),
}


def environment(options: dict[str, str]) -> TableEnvironment:
    found = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for statement in TABLES.split(";"):
        found.execute_sql(statement)
    for key, value in options.items():
        found.get_config().set(key, value)
    return found


def program(statement: str, options: dict[str, str], directory: Path) -> Path:
    path = directory / "program.py"
    settings = "".join(f"env.get_config().set({key!r}, {value!r})\n" for key, value in options.items())
    path.write_text(
        "from firesteel.table import EnvironmentSettings, TableEnvironment\n"
        "env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())\n"
        f"for statement in {TABLES!r}.split(';'):\n    env.execute_sql(statement)\n"
        f"{settings}env.execute_sql({statement!r})\n"
    )
    return path


def error_of(call: Callable[[], object]) -> str:
    with pytest.raises((FiresteelError, ValueError)) as error:
        call()
    return re.sub(r"\b[0-9a-f]{32}\b|'insert-into_[^']*'|'Flink Streaming Job'", "JOB", str(error.value))


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_submission_refuses_is_refused_by_plans_too(name: str, tmp_path: Path) -> None:
    statement, options, text = REFUSED[name]
    path = program(statement, options, tmp_path)
    errors = {
        error_of(lambda: environment(options).explain_sql(statement)),
        error_of(lambda: environment(options).execute_sql(statement)),
        error_of(lambda: load_plan_source(path)),
        error_of(lambda: runpy.run_path(str(path))),
    }
    (error,) = errors
    assert text in error
