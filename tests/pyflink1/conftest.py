from __future__ import annotations

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.pyflink1 import removed
from firesteel.pyflink1.names import owner_of
from firesteel.pyflink1.tables.names import TABLE_NAMES
from firesteel.testing import run_local


@pytest.fixture
def old_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the names of PyFlink 1 for tables, as an import of `pyflink.table` does."""
    removed.note.cache_clear()
    for one in TABLE_NAMES:
        for place in one.places:
            owner = owner_of(place)
            if one.widens or not hasattr(owner, one.name):
                monkeypatch.setattr(owner, one.name, one.value, raising=False)


@pytest.fixture
def runs_locally(monkeypatch):
    """Let `execute` of an environment run its job in this process."""
    names = []

    def execute(env, name=None):
        names.append(name)
        return run_local(env, default_parallelism=1)

    monkeypatch.setattr(StreamExecutionEnvironment, "execute", execute)
    return names
