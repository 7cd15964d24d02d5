"""Readers of pickles in state files: they run no code, and each class that firesteel writes is in their tables."""

from __future__ import annotations

import ast
import contextlib
import os
import pickle
from collections.abc import Callable
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.encoding import encoded, encoded_data
from firesteel.common.files.multipart import UploadPart
from firesteel.common.keys.canonical_keys import ValueKey, canonical_key, key_of
from firesteel.common.trust.restricted_pickle import load_plain, load_values
from firesteel.connectors.files.committer import FinishedPart, LeftoverParts
from firesteel.connectors.files.remote_committer import ForgottenObjects, RemoteLeftovers, StagedPart, UploadedPart
from firesteel.connectors.kafka.writer import PreparedRecords
from firesteel.connectors.staging import PreparedRows
from firesteel.coordinator.source_splits import KnownKeys, SourceState
from firesteel.datastream.connectors.base import CommitRequest
from firesteel.functions.splits import Split, Stop
from firesteel.operators.sinks.committables import SinkCommittables
from firesteel.task.state_types import (
    inert_entries,
    load_committables,
    load_frame,
    load_inert,
    load_metadata,
    load_sources,
    state_entries,
)

SOURCE = Path(__file__).parents[2] / "src" / "firesteel"


class Evil:
    def __reduce__(self) -> Any:
        return os.mkdir, ("evil",)


class Color(Enum):
    RED = 1


class Point:
    def __init__(self, x: int) -> None:
        self.x = x


READERS: dict[str, Callable[[bytes], Any]] = {
    "metadata": load_metadata,
    "frame": load_frame,
    "sources": load_sources,
    "committables": lambda data: load_committables(data, has_own=False),
    "plain": load_plain,
    "values": lambda data: load_values(data, "a row"),
}
HOSTILE = {
    "a call": pickle.dumps(Evil()),
    "a call in text": b"cos\nmkdir\n(Vevil\ntR.",
    "a member of an allowed class": b"\x80\x04\x8c\x08datetime\x8c\x10datetime.__init__\x93.",
    "builtins": b"cbuiltins\neval\n(Vopen('evil', 'w')\ntR.",
    "an extension": pickle.PROTO + b"\x04" + pickle.EXT1 + b"\x01.",
    "an instance": b"(ios\nmkdir\nVevil\n.",
    "a nested call": pickle.dumps({"a": [Evil()]}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("data", HOSTILE)
def test_no_reader_runs_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, data: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((pickle.UnpicklingError, ValueError)):
        READERS[reader](HOSTILE[data])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", HOSTILE)
def test_state_of_users_is_shown_without_running_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(pickle.UnpicklingError):
        load_inert(HOSTILE[data])
    assert list(tmp_path.iterdir()) == []


def test_inert_values_name_their_class_and_count_as_keys() -> None:
    [first, second, same] = load_inert(pickle.dumps([Point(1), Point(2), Point(1)]))
    assert (type(first).__name__, repr(first)) == ("Point", "Point({'x': 1})")
    assert len({first, second, same}) == 2


def test_positions_of_sources_are_read_back() -> None:
    split = Split("a:0", 1, 0, 10, path="a", stops=(Stop(5, 1), Stop(10, 1)))
    state = SourceState(2, splits={"a:0": split}, positions={"a:0": 5}, known=KnownKeys({"b"}))
    found = load_sources(encoded_data({"op": state}))["op"]
    assert (found.splits, found.positions, found.known.keys) == (state.splits, state.positions, {"b"})


def test_known_splits_in_a_position_run_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import zlib

    from firesteel.coordinator import source_splits

    monkeypatch.chdir(tmp_path)
    packed = zlib.compress(pickle.dumps(Evil()))

    class Packed:
        def __reduce__(self) -> Any:
            return source_splits._unpack_keys, (packed,)

    with pytest.raises(pickle.UnpicklingError):
        load_sources(pickle.dumps({"op": Packed()}))
    assert list(tmp_path.iterdir()) == []


ROWS = PreparedRows("staged", ((1, "a", None),), b"key")
COMMITTABLES: dict[str, list[Any]] = {
    "FileCommitter": [
        FinishedPart("a", "b", ("c",)),
        LeftoverParts("base", "uid", (1, 2, 3), frozenset({"d"})),
        UploadedPart("f", "id", (UploadPart(1, "etag", 9),), ("r",)),
        StagedPart("p", "f"),
        ForgottenObjects(("a",)),
        RemoteLeftovers("base", "uid", None, frozenset(), ()),
    ],
    "TableFileCommitter": [FinishedPart("a", "b")],
    "OverwritingCommitter": [FinishedPart("a", "b")],
    "JdbcCommitter": [ROWS],
    "TableCommitter": [PreparedRows(None, ((True, (1,)), (False, (2,))))],
    "KafkaCommitter": [PreparedRecords(ROWS, frozenset({"topic"}), "prefix")],
    "KafkaOffsetsCommitter": [{"topic-0": 7}],
    "SparkCommitter": [["/staged/a.parquet"]],
    "SlotCommitter": [{"log": 7}],
}
"""Committables of each committer whose classes are known; others are read by the job's own process without a table."""


def _committers() -> dict[str, str]:
    """Return the module of each class in the sources that is derived from a committer."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any("Committer" in ast.unparse(base) for base in node.bases):
                found[node.name] = module
    return found


def test_the_committables_of_each_committer_are_in_the_table() -> None:
    plain = {name for name, module in _committers().items() if getattr(import_module(module), name).commits_data}
    assert plain == set(COMMITTABLES)
    assert set(_committers()) - plain == {"DeltaCommitter", "IcebergCommitter"}, "they commit objects of libraries"
    for committables in COMMITTABLES.values():
        requests = tuple(CommitRequest("job", "sink", 0, n, item) for n, item in enumerate(committables))
        for data in (
            encoded([SinkCommittables("sink", "name", requests)]),
            pickle.dumps([SinkCommittables("sink", "name", requests)], protocol=5),
        ):
            assert load_committables(data, has_own=False)[0].requests == requests


# --- state of users -------------------------------------------------------------------------------------------------


def test_other_classes_are_left_to_their_program() -> None:
    keys = [canonical_key(key) for key in (Point(1), Color.RED, 1.5)]
    _, found = state_entries(pickle.dumps(("s", {key: Point(2) for key in keys})))
    assert [key_of(key) for key in found][1:] == [Color.RED, 1.5]
    assert {value.x for value in found.values()} == {2}
    _, shown = inert_entries(pickle.dumps(("s", {key: Point(2) for key in keys})))
    assert [key_of(key) for key in shown][2] == 1.5
    assert "Point" in repr(next(iter(shown.values())))


@pytest.mark.parametrize(
    "form",
    [
        ("reduce", ("global", "os", "mkdir"), ("tuple", "evil"), None, None, None),
        ("reduce", ("global", "builtins", "getattr"), ("tuple", 1, "real"), None, None, None),
        ("global", "os", "mkdir"),
        ("global", "datetime", "date.today"),
        ("tuple", ("unknown", 1)),
        (),
    ],
)
def test_a_key_of_other_classes_is_not_rebuilt(form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown: Any = load_inert(pickle.dumps({ValueKey((..., form)): 1}))
    assert type(next(iter(shown))).__name__ == "ValueKey"
    assert not isinstance(next(iter(shown)), ValueKey)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_form_of_a_key_is_an_error() -> None:
    with pytest.raises(pickle.UnpicklingError):
        load_inert(pickle.dumps(ValueKey((..., ("float", b"1")))))
