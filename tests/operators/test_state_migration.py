"""Restored state is checked against the types that the program declares, and rows with other fields are converted."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Row, RowKind, Time, Types
from firesteel.common.typeinfo import TypeInformation
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.operators.chain.operator_errors import StateMigrationError
from firesteel.operators.state.broadcast_state import BroadcastStates, OperatorBroadcastState
from firesteel.operators.state.descriptions import NEXT_SUBTASK, description_of, shown, type_text
from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_store import StateStore
from tests.operators.ttl_states import GETTERS, Sum

OLD = Types.ROW_NAMED(["id", "name", "gone"], [Types.INT(), Types.STRING(), Types.LONG()])
NEW = Types.ROW_NAMED(["name", "added", "id"], [Types.STRING(), Types.DOUBLE(), Types.INT()])
ROW = Row(1, "a", 2)
CONVERTED = Row(name="a", added=None, id=1)
BACKENDS = pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])


def state_of(
    descriptor: StateDescriptor, key_type: TypeInformation[Any], parts: list[Any], on_disk: bool = False
) -> tuple[KeyedStateBackend, Any]:
    """Return a backend with restored state, and the state of the descriptor for key `k`."""
    backend = KeyedStateBackend(key_type, 128, DiskStore({}) if on_disk else None)
    for part in parts:
        backend.load(part)
    backend.check_key_type("count")
    backend.current_key = "k"
    return backend, getattr(StateStore(backend), GETTERS[type(descriptor)])(descriptor)


def written(descriptor: StateDescriptor, write: Any, key_type: TypeInformation[Any] | None = None) -> list[Any]:
    backend, state = state_of(descriptor, key_type or Types.STRING(), [])
    write(state)
    return list(backend.delta())


def limited(descriptor: StateDescriptor) -> StateDescriptor:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
    return descriptor


WRITTEN: dict[str, tuple[Any, Any, Any, Any]] = {
    "value": (lambda t: ValueStateDescriptor("s", t), lambda s: s.update(ROW), lambda s: s.value(), CONVERTED),
    "list": (lambda t: ListStateDescriptor("s", t), lambda s: s.add_all([ROW] * 2), lambda s: s.get(), [CONVERTED] * 2),
    "map": (
        lambda t: MapStateDescriptor("s", Types.STRING(), t),
        lambda s: s.put("x", ROW),
        lambda s: dict(s.items()),
        {"x": CONVERTED},
    ),
    "lists of rows": (
        lambda t: ValueStateDescriptor("s", Types.LIST(t)),
        lambda s: s.update([ROW, None]),
        lambda s: s.value(),
        [CONVERTED, None],
    ),
    "maps of rows": (
        lambda t: ValueStateDescriptor("s", Types.MAP(Types.STRING(), t)),
        lambda s: s.update({"x": ROW}),
        lambda s: s.value(),
        {"x": CONVERTED},
    ),
    "rows of rows": (
        lambda t: ValueStateDescriptor("s", Types.ROW_NAMED(["inner"], [t])),
        lambda s: s.update(Row(ROW)),
        lambda s: s.value(),
        Row(inner=CONVERTED),
    ),
    "tuples of rows": (
        lambda t: ValueStateDescriptor("s", Types.TUPLE([t, Types.INT()])),
        lambda s: s.update((ROW, 5)),
        lambda s: s.value(),
        (CONVERTED, 5),
    ),
    "reducing": (
        lambda t: ReducingStateDescriptor("s", lambda a, b: b, t),
        lambda s: s.add(ROW),
        lambda s: s.get(),
        CONVERTED,
    ),
}


@BACKENDS
@pytest.mark.parametrize("had_ttl", [False, True], ids=["", "had ttl"])
@pytest.mark.parametrize("has_ttl", [False, True], ids=["", "has ttl"])
@pytest.mark.parametrize("kind", WRITTEN)
def test_rows_get_and_lose_fields(kind: str, had_ttl: bool, has_ttl: bool, on_disk: bool) -> None:
    make, write, read, expected = WRITTEN[kind]
    parts = written(limited(make(OLD)) if had_ttl else make(OLD), write)

    def descriptor() -> StateDescriptor:
        made: StateDescriptor = make(NEW)
        return limited(made) if has_ttl else made

    backend, state = state_of(descriptor(), Types.STRING(), parts, on_disk)
    assert read(state) == expected
    again, state = state_of(descriptor(), Types.STRING(), list(backend.full()), on_disk)
    assert read(state) == expected
    assert again.restored == {"\0key": {"kind": "key", "key": "String"}}


def test_a_row_keeps_its_kind() -> None:
    deleted = Row.of_kind(RowKind.DELETE, 1, "a", 2)
    parts = written(ValueStateDescriptor("s", OLD), lambda s: s.update(deleted))
    _, state = state_of(ValueStateDescriptor("s", NEW), Types.STRING(), parts)
    assert state.value().get_row_kind() is RowKind.DELETE


REFUSED: list[tuple[StateDescriptor, Any, StateDescriptor, str]] = [
    (
        ValueStateDescriptor("s", Types.INT()),
        lambda s: s.update(1),
        ValueStateDescriptor("s", Types.STRING()),
        "state 's' was restored as type Integer, but the program asks for type String",
    ),
    (
        ValueStateDescriptor("s", Types.PICKLED_BYTE_ARRAY()),
        lambda s: s.update(1),
        ValueStateDescriptor("s", Types.INT()),
        "restored as type PICKLED, but the program asks for type Integer",
    ),
    (
        ListStateDescriptor("s", Types.TUPLE([Types.INT()])),
        lambda s: s.add((1,)),
        ListStateDescriptor("s", Types.TUPLE([Types.INT(), Types.INT()])),
        "restored as type TUPLE<Integer>, but the program asks for type TUPLE<Integer, Integer>",
    ),
    (
        ValueStateDescriptor("s", OLD),
        lambda s: s.update(ROW),
        ValueStateDescriptor("s", Types.ROW_NAMED(["id"], [Types.STRING()])),
        "restored as type ROW<id: Integer, name: String, gone: Long>, but the program asks for type ROW<id: String>",
    ),
    (
        MapStateDescriptor("s", Types.STRING(), Types.INT()),
        lambda s: s.put("x", 1),
        MapStateDescriptor("s", Types.INT(), Types.INT()),
        "restored as map keys of type String, but the program asks for map keys of type Integer",
    ),
    (
        ValueStateDescriptor("s", Types.INT()),
        lambda s: s.update(1),
        ListStateDescriptor("s", Types.INT()),
        "restored as value state, but the program asks for list state",
    ),
    (
        ValueStateDescriptor("s", Types.INT()),
        lambda s: s.update(1),
        MapStateDescriptor("s", Types.STRING(), Types.INT()),
        "restored as value state, but the program asks for map state",
    ),
    (
        ReducingStateDescriptor("s", lambda a, b: a, Types.INT()),
        lambda s: s.add(1),
        AggregatingStateDescriptor("s", Sum(), Types.INT()),
        "restored as reducing state, but the program asks for aggregating state",
    ),
]


@pytest.mark.parametrize(("old", "write", "new", "message"), REFUSED)
def test_another_type_is_refused(old: StateDescriptor, write: Any, new: StateDescriptor, message: str) -> None:
    with pytest.raises(StateMigrationError, match=message):
        state_of(new, Types.STRING(), written(old, write))


def test_another_type_of_keys_is_refused() -> None:
    descriptor = ValueStateDescriptor("s", Types.INT())
    parts = written(descriptor, lambda s: s.update(1))
    with pytest.raises(StateMigrationError, match=r"key of operator 'count' was restored as type String, .* type Long"):
        state_of(descriptor, Types.LONG(), parts)


def test_broadcast_state_is_checked_and_converted() -> None:
    def states(descriptor: MapStateDescriptor, parts: list[Any]) -> BroadcastStates:
        made = BroadcastStates()
        for part in parts:
            made.load(part)
        made.claim([descriptor])
        return made

    old, new = (MapStateDescriptor("rules", Types.INT(), row) for row in (OLD, NEW))
    first = states(old, [])
    OperatorBroadcastState(old, first.table("rules"), writable=True).put(1, ROW)
    parts = list(first.parts(full=False))
    second = states(new, parts)
    assert OperatorBroadcastState(new, second.table("rules"), writable=False).get(1) == CONVERTED
    assert [name for name, _ in second.parts(full=False)] == ["\0broadcast\0rules", "\0described"]
    with pytest.raises(StateMigrationError, match="'rules' was restored as map keys of type Integer"):
        states(MapStateDescriptor("rules", Types.LONG(), NEW), parts)


def test_state_that_no_descriptor_asks_for_keeps_its_description() -> None:
    parts = written(ValueStateDescriptor("other", Types.INT()), lambda s: s.update(1))
    backend, _ = state_of(ValueStateDescriptor("s", Types.STRING()), Types.STRING(), parts)
    descriptions = dict(backend.full())["\0described"]
    assert descriptions["other"] == {"kind": "value", "value": "Integer"}


def test_an_operator_without_entries_describes_nothing_until_it_has_some() -> None:
    backend, state = state_of(ValueStateDescriptor("s", Types.INT()), Types.STRING(), [])
    assert list(backend.full()) == list(backend.delta()) == []
    state.update(1)
    assert [name for name, _ in backend.delta()] == ["s", "\0described"]
    state.update(2)
    assert [name for name, _ in backend.delta()] == ["s"]


def test_descriptions_are_plain_data() -> None:
    assert description_of(ListStateDescriptor("s", Types.PICKLED_BYTE_ARRAY())) == {"kind": "list", "value": "PICKLED"}
    assert shown(type_text(Types.MAP(Types.STRING(), Types.PRIMITIVE_ARRAY(Types.INT())))) == (
        "MAP<String, PrimitiveArrayTypeInfo<Integer>>"
    )
    assert shown(["no", "type"]) == "['no', 'type']"


@BACKENDS
@pytest.mark.parametrize("kind", ["value", "list", "map"])
@pytest.mark.parametrize("had_ttl", [False, True])
def test_a_state_that_is_asked_for_late_is_converted_once(kind: str, had_ttl: bool, on_disk: bool) -> None:
    """The first versions have the old table, later ones say that its entries are gone."""
    make, write, read, expected = WRITTEN[kind]
    versions = written(limited(make(OLD)) if had_ttl else make(OLD), write)
    backend = KeyedStateBackend(Types.STRING(), 128, DiskStore({}) if on_disk else None)
    for part in versions:
        backend.load(part)
    versions = list(backend.full())

    def asked(of: KeyedStateBackend) -> Any:
        of.current_key = "k"
        return getattr(StateStore(of), GETTERS[type(make(NEW))])(make(NEW) if had_ttl else limited(make(NEW)))

    state = asked(backend)
    assert read(state) == expected
    versions += list(backend.delta())
    state.clear()
    nothing = read(state)
    versions += list(backend.delta())
    again = KeyedStateBackend(Types.STRING(), 128)
    for part in versions:
        again.load(part)
    assert read(asked(again)) == nothing
    assert all(not len(table) for table in again.tables.values())


def test_subtasks_that_do_not_agree_about_a_state_are_refused() -> None:
    descriptor = ValueStateDescriptor("s", NEW)
    old = written(ValueStateDescriptor("s", OLD), lambda s: s.update(ROW))
    new = written(descriptor, lambda s: s.update(CONVERTED))
    with pytest.raises(StateMigrationError, match=r"SEVERAL<ROW<id: Integer, .*>, ROW<name: String, .*>>"):
        state_of(descriptor, Types.STRING(), [(NEXT_SUBTASK, {}), *old, (NEXT_SUBTASK, {}), *new])
    _, state = state_of(descriptor, Types.STRING(), [(NEXT_SUBTASK, {}), *new, (NEXT_SUBTASK, {}), *new])
    assert state.value() == CONVERTED
