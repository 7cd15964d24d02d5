"""Staged data is removed when its job has ended."""

from types import SimpleNamespace

import pytest

from firesteel.client import staged_data
from firesteel.client.staged_data import StagedData


class Staging:
    def __init__(self, log, name, fails=False):
        self.log, self.name, self.fails = log, name, fails

    def write(self):
        self.log.append(f"write {self.name}")
        if self.fails:
            raise OSError("disk full")

    def remove(self):
        self.log.append(f"remove {self.name}")


def data_of(*stagings):
    operators = [SimpleNamespace(source=SimpleNamespace(staging=staging)) for staging in stagings]
    chains = [[SimpleNamespace(operator=operator)] for operator in (*operators, SimpleNamespace())]
    return StagedData(SimpleNamespace(vertices=[SimpleNamespace(chain=chain) for chain in chains]))


@pytest.fixture(autouse=True)
def pending(monkeypatch):
    monkeypatch.setattr(staged_data, "_pending", {})
    return staged_data._pending


@pytest.fixture
def log():
    return []


def test_data_is_removed_once(log):
    data = data_of(Staging(log, "a"), None)
    assert data
    data.write()
    data.remove()
    data.remove()
    assert log == ["write a", "remove a"]
    assert not data_of(None)


def test_data_is_removed_if_some_cannot_be_written(log, pending):
    with pytest.raises(OSError, match="disk full"):
        data_of(Staging(log, "a"), Staging(log, "b", fails=True)).write()
    assert sorted(log) == ["remove a", "remove b", "write a", "write b"]
    assert pending == {}


def test_data_of_jobs_in_this_process_is_removed_at_its_exit(log):
    data_of(Staging(log, "a")).write()
    data_of().write()
    assert log == ["write a"]
    staged_data._remove(is_at_exit=True)
    assert log == ["write a", "remove a"]


def test_data_of_a_job_on_a_cluster_is_removed_after_its_end(log):
    ended = []
    data = data_of(Staging(log, "a"))
    data.write()
    data.remove_after(lambda: bool(ended))
    staged_data._remove(is_at_exit=True)
    assert log == ["write a"]
    ended.append(True)
    data_of().write()
    assert log == ["write a", "remove a"]
