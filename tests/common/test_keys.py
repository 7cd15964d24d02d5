"""Canonical forms of keys are equal exactly if Flink considers the keys equal, by bytes or by Java's `equals`."""

from __future__ import annotations

import datetime
import enum
import os
import pickle
import struct
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Row, Types
from firesteel.common.keys.canonical_keys import KeyFormError, canonical_key, key_keeper, key_of
from firesteel.common.keys.key_groups import key_group_assigner
from firesteel.operators.state.disk_store import DiskStore

NAN = float("nan")
OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
ZONE = datetime.timezone(datetime.timedelta(hours=1))
NOON = datetime.datetime(2024, 1, 1, 12)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Point:
    x: Any
    parts: Any = ()


@dataclass
class Box:
    content: Any
    tags: list[Any] = field(default_factory=list)


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value


class AllEqual(Plain):
    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


ATOMS = st.sampled_from(
    [
        *(0, 1, -1, 2**70, True, False, 0.0, -0.0, 1.0, NAN, OTHER_NAN, None, "", "a", "long text", b"", b"a"),
        *(Decimal("1.0"), Decimal("1.00"), Decimal("NaN"), Fraction(1), complex(1, -0.0), complex(1, 0.0)),
        *(NOON, NOON.replace(fold=1), NOON.replace(tzinfo=datetime.UTC), NOON.replace(hour=13, tzinfo=ZONE)),
        *(datetime.date(2024, 1, 1), datetime.time(1), datetime.time(1, fold=1), datetime.timedelta(1)),
        *(Color.RED, Color.BLUE, Level.LOW),
    ]
)
KEYS = st.recursive(
    ATOMS,
    lambda keys: st.one_of(
        st.lists(keys, max_size=3).map(tuple),
        st.lists(keys, max_size=2),
        st.builds(Pair, keys, keys),
        st.builds(Point, keys, st.tuples(keys)),
        st.builds(Box, keys),
        st.builds(Plain, keys),
        st.builds(AllEqual, keys),
        st.dictionaries(st.sampled_from(["a", "b"]), keys, max_size=2),
        st.frozensets(st.sampled_from(["a", "b", "c", 1, 1.5]), max_size=3),
        st.builds(Row, keys, keys),
    ),
    max_leaves=5,
)


def is_same(a: Any, b: Any) -> bool:
    """Return PyFlink's bytes of the key, except for NaNs and sets."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, (Decimal, complex)):
        return repr(a) == repr(b)
    if isinstance(a, (tuple, list, Row)):
        return len(a) == len(b) and all(map(is_same, a, b))
    if isinstance(a, dict):
        return is_same(list(a.items()), list(b.items()))
    if isinstance(a, frozenset):
        return {(type(part), part) for part in a} == {(type(part), part) for part in b}
    if isinstance(a, (datetime.datetime, datetime.time)):
        return a.replace(tzinfo=None) == b.replace(tzinfo=None) and (a.fold, a.tzinfo) == (b.fold, b.tzinfo)
    if isinstance(a, (Point, Box, Plain)):
        return is_same(vars(a), vars(b))
    return bool(a == b)


def copied(key: Any) -> Any:
    return pickle.loads(pickle.dumps(key))


@given(KEYS, KEYS)
def test_canonical_forms_are_equal_for_equal_keys(first: Any, second: Any) -> None:
    kept, other = canonical_key(first), canonical_key(second)
    assert (kept == other) == is_same(first, second)
    assert (kept != other) != is_same(first, second)
    if kept == other:
        assert hash(kept) == hash(other)


@given(KEYS)
def test_key_comes_back_and_equal_forms_are_routed_alike(key: Any) -> None:
    kept, assign = canonical_key(key), key_group_assigner(None, 32768)
    assert is_same(key_of(kept), key)
    assert canonical_key(key_of(kept)) == canonical_key(copied(key)) == copied(kept) == canonical_key(kept) == kept
    assert assign(kept) == assign(canonical_key(copied(key))) == assign(copied(kept)) == assign(key)


@given(st.lists(KEYS, max_size=8))
def test_tables_on_disk_have_the_entries_of_those_in_memory(keys: list[Any]) -> None:
    store = DiskStore({"state.backend.rocksdb.memory.fixed-per-slot": "1b"})
    table, pairs, model = store.table(), store.maps(), {}
    for number, key in enumerate(keys):
        kept = canonical_key(key)
        table[kept] = pairs["entry", kept] = model[kept] = number
    table.review()
    assert {kept: table.get(canonical_key(copied(key_of(kept)))) for kept in model} == model
    assert dict(table.items()) == model
    assert dict(pairs.items()) == {("entry", kept): number for kept, number in model.items()}
    assert all(is_same(key_of(found), key_of(kept)) for found in table for kept in model if found == kept)


def test_user_code_can_not_change_a_key_that_is_kept() -> None:
    key = Plain([1])
    kept = canonical_key((key, "a"))
    key.value.append(2)
    key_of(kept)[0].value.append(3)
    assert kept == canonical_key((Plain([1]), "a"))


def test_key_that_can_not_be_compared_says_what_to_do() -> None:
    recursive: list[Any] = []
    recursive.append(recursive)
    for key in (recursive, threading.Lock(), lambda: 1, ("a", (n for n in ()))):
        with pytest.raises(KeyFormError, match="let the key selector return"):
            canonical_key(key)


@pytest.mark.parametrize(
    ("key_type", "same", "different"),
    [
        (Types.DOUBLE(), [(NAN, OTHER_NAN), (1, 1.0)], [(0.0, -0.0)]),
        (Types.FLOAT(), [(NAN, OTHER_NAN), (0.1, 0.1 + 1e-12)], [(0.0, -0.0)]),
        (Types.BIG_DEC(), [(Decimal("0.0"), Decimal("-0.0"))], [(Decimal("1.0"), Decimal("1.00"))]),
        (Types.INT(), [(1, True), (1, 1.5)], [(1, 2)]),
        (Types.STRING(), [("a", type("Text", (str,), {})("a"))], [("a", "b")]),
        (
            Types.SQL_TIMESTAMP(),
            [(NOON.replace(tzinfo=datetime.UTC), NOON.replace(tzinfo=ZONE)), (NOON, NOON.replace(fold=1))],
            [(NOON, NOON.replace(hour=13))],
        ),
        (Types.LIST(Types.DOUBLE()), [([NAN], (OTHER_NAN,))], [([0.0], [-0.0])]),
        (
            Types.MAP(Types.STRING(), Types.BIG_DEC()),
            [({"a": Decimal(1), "b": Decimal(2)}, {"b": Decimal(2), "a": Decimal(1)})],
            [({"a": Decimal("1.0")}, {"a": Decimal("1.00")})],
        ),
        (Types.TUPLE([Types.STRING(), Types.DOUBLE()]), [(("a", NAN), ("a", OTHER_NAN))], [(("a", 0.0), ("a", -0.0))]),
        (Types.ROW([Types.DOUBLE()]), [(Row(NAN), (OTHER_NAN,))], [(Row(0.0), Row(-0.0))]),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [(b"a", bytearray(b"a"))], [(b"a", b"b")]),
    ],
)
def test_declared_keys_are_compared_as_java_does(key_type: Any, same: Any, different: Any) -> None:
    keep, assign = key_keeper(key_type), key_group_assigner(key_type, 32768)
    for first, second in same:
        assert keep(first) == keep(second)
        assert hash(keep(first)) == hash(keep(second))
        assert assign(keep(first)) == assign(keep(second))
    for first, second in different:
        assert keep(first) != keep(second)


SCRIPT = """
import cloudpickle, enum, sys
from dataclasses import dataclass
from typing import NamedTuple
from firesteel.common.keys.key_groups import key_group_assigner
from firesteel.common.keys.canonical_keys import canonical_key, key_of
from firesteel.common.trust.pickling import pickled
class Color(enum.Enum):
    RED = 1
class Pair(NamedTuple):
    left: object
    right: object
@dataclass
class Box:
    content: object
class Plain:
    def __init__(self, value):
        self.value = value
def keys():
    texts = frozenset(["one", "two", "three", "four"])
    return [Color.RED, Pair(1, "a"), Box([1.0]), Plain({"a": texts}), texts, float("nan"), (1, Plain(None)), 1.0]
forms, assign = [canonical_key(key) for key in keys()], key_group_assigner(None, 32768)
if sys.argv[1:]:
    there, groups = cloudpickle.loads(open(sys.argv[1], "rb").read())
    assert there == forms, there
    assert groups == [assign(form) for form in there] == [assign(form) for form in forms]
    assert [canonical_key(key_of(form)) for form in there] == forms
    assert [type(key_of(form)).__name__ for form in there] == [type(key).__name__ for key in keys()]
else:
    sys.stdout.buffer.write(cloudpickle.dumps((forms, [assign(form) for form in forms])))
"""


def test_keys_of_the_script_are_the_same_in_another_process(tmp_path: Path) -> None:
    script, data = tmp_path / "job.py", tmp_path / "keys"
    script.write_text(SCRIPT)

    def run(seed: str, *args: str) -> bytes:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, script, *args], env=environment, check=True, capture_output=True).stdout

    data.write_bytes(run("1"))
    run("2", str(data))
