"""State files hold no code: all but values of PICKLED types is read by readers that refuse every pickle."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.encoding import decoded, decoded_entries, encoded_entries
from firesteel.common.keys.canonical_keys import key_keeper
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.operators.state.descriptions import DESCRIBED, PICKLED
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_store import StateStore
from firesteel.state_processor import OperatorIdentifier, SavepointReader, inspect_savepoint
from firesteel.task import state_types
from firesteel.task.checkpoint_metadata import METADATA, read_metadata
from firesteel.task.state_file import read_state_file
from firesteel.task.state_types import inert_entries, state_entries
from tests.common.test_json_values import CASES
from tests.task.older_savepoints import typed

SAVEPOINTS = Path(__file__).parent / "older_savepoints" / "data"
NEWEST = sorted(path.parent for path in SAVEPOINTS.rglob(METADATA))
"""The golden savepoints of the newest format."""


@pytest.fixture
def no_unpickler(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def __init__(self, *_: object, **__: object) -> None:
            raise AssertionError("a pickle is read")

    for name in ("loads", "load", "Unpickler", "_Unpickler"):
        monkeypatch.setattr(pickle, name, Refusing)
    monkeypatch.setattr(state_types, "_InertUnpickler", Refusing)


def frames_of(savepoint: Path) -> Iterator[Any]:
    for file in read_metadata(savepoint).files():
        yield from map(decoded, read_state_file(savepoint / file))


@pytest.mark.usefixtures("no_unpickler")
@pytest.mark.parametrize("savepoint", NEWEST, ids=lambda path: str(path.relative_to(SAVEPOINTS)))
def test_a_savepoint_is_read_without_an_unpickler(savepoint: Path) -> None:
    metadata = read_metadata(savepoint)
    for region in metadata.states:
        assert decoded(region.sources)
        assert decoded(region.committables) == []
    pickled: set[str] = set()
    described: dict[str, Any] = {}
    tables = versions = 0
    for _, operator_id, state in frames_of(savepoint):
        if operator_id is None:
            versions += 1
            for _, snapshot in state["operators"].values():
                decoded(snapshot)
        else:
            tables += 1
            found: list[bytes] = []

            def noted(part: bytes, found: list[bytes] = found) -> Any:
                found.append(part)
                raise LookupError

            try:
                name, entries = decoded_entries(state, noted)
            except LookupError:
                name = typed.PICKLED
                assert typed.Own.__module__.encode() in found[0]
                pickled.add(name)
            else:
                if name == DESCRIBED:
                    described |= entries
    assert tables > 1
    assert versions > 1
    assert all(described[name]["value"] == PICKLED for name in pickled)
    assert pickled == ({typed.PICKLED} if savepoint.name == "typed" else set())


@pytest.mark.usefixtures("no_unpickler")
def test_the_state_processor_reads_each_declared_type_without_an_unpickler() -> None:
    reader = SavepointReader.read(str(SAVEPOINTS / "typed"))
    operator = OperatorIdentifier.for_uid("typed")
    for number, (_, case) in enumerate(CASES):
        values = dict(reader.read_keyed_state(operator, f"value {number}"))
        assert values
        assert all(value == case and value.__class__ is case.__class__ for value in values.values())
    with pytest.raises(AssertionError, match="a pickle is read"):
        list(reader.read_keyed_state(operator, typed.PICKLED))


@pytest.mark.parametrize("savepoint", NEWEST, ids=lambda path: str(path.relative_to(SAVEPOINTS)))
def test_savepoints_are_inspected(savepoint: Path) -> None:
    states = [state for operator in inspect_savepoint(str(savepoint)).operators for state in operator.states]
    assert sum(state.entries for state in states) > 3


# --- declared types -------------------------------------------------------------------------------------------------


def deltas_of(type_info: TypeInformation[Any], value: Any, place: str) -> list[Any]:
    """Return what a version has of a state with a value, a key, or a key of a map."""
    backend = KeyedStateBackend(type_info if place == "key" else Types.INT(), 128)
    store = StateStore(backend)
    backend.current_key = key_keeper(type_info)(value) if place == "key" else 1
    if place == "map key":
        store.get_map_state(MapStateDescriptor("s", type_info, Types.INT())).put(value, 1)
    else:
        value_type, kept = (Types.INT(), 1) if place == "key" else (type_info, value)
        store.get_state(ValueStateDescriptor("s", value_type)).update(kept)
    return list(backend.delta())


@pytest.mark.usefixtures("no_unpickler")
@pytest.mark.parametrize("place", ["value", "key", "map key"])
@pytest.mark.parametrize(("type_info", "value"), CASES, ids=lambda one: repr(one))
def test_values_of_each_declared_type_are_data(type_info: TypeInformation[Any], value: Any, place: str) -> None:
    for delta in deltas_of(type_info, value, place):
        data = encoded_entries(*delta)
        for read in (decoded_entries, inert_entries, state_entries):
            found = read(data)
            assert found == delta
            assert repr(found) == repr(delta)
