"""Random statements are taken and refused as in Flink 2.3, in both modes; a table has those that are not."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from firesteel.errors import FiresteelError
from tests.flink_recordings.refusals.different import DIFFERENT
from tests.flink_recordings.refusals.statements import MODES, TABLES, statements
from tests.table.environments import environment

pytestmark = pytest.mark.slow

RECORDED: dict[str, dict[str, str | None]] = json.loads(
    gzip.decompress((Path(__file__).parent / "refusals" / "recorded.json.gz").read_bytes())
)
EVERY = 1 if os.environ.get("FIRESTEEL_ALL_RECORDINGS") else 6


@pytest.mark.parametrize("mode", MODES)
def test_random_statements_are_taken_and_refused_as_in_flink(mode: str) -> None:
    t_env = environment(mode)
    for table in TABLES:
        t_env.execute_sql(table)
    listed = {statement for some in DIFFERENT.values() for one, statement in some if one == mode}
    for statement in list(RECORDED[mode])[::EVERY]:
        is_same = is_taken(t_env, statement) == (RECORDED[mode][statement] is None)
        assert is_same != (statement in listed), statement


def is_taken(t_env: object, statement: str) -> bool:
    """Return whether a statement is planned, or refused by an error that is meant for users."""
    try:
        t_env.explain_sql(statement)
    except (FiresteelError, NotImplementedError):
        return False
    return True


@pytest.mark.skipif(EVERY > 1, reason="takes seconds")
def test_all_statements_are_recorded() -> None:
    made = statements()
    assert {mode: [*found] for mode, found in RECORDED.items()} == dict.fromkeys(MODES, made)
