from __future__ import annotations

import copy
import enum
import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Row, Types
from firesteel.common.values.coercion import coercer, is_immutable_type
from firesteel.common.values.ownership import are_immutable, own, own_all


class Color(enum.Enum):
    RED = 1


class Pair(NamedTuple):
    left: Any
    right: Any


@dataclass(frozen=True)
class Frozen:
    parts: Any


@dataclass
class Box:
    parts: Any


LEAVES = st.one_of(st.integers(), st.text(max_size=3), st.none(), st.floats(allow_nan=False), st.just(Color.RED))
VALUES = st.recursive(
    LEAVES,
    lambda values: st.one_of(
        st.lists(values, max_size=3),
        st.lists(values, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text(max_size=2), st.tuples(st.integers())), values, max_size=3),
        st.sets(LEAVES, max_size=2),
        st.frozensets(LEAVES, max_size=2),
        st.builds(Row, values, values),
        st.builds(Pair, values, values),
        st.builds(Frozen, values),
        st.builds(Box, values),
    ),
    max_leaves=8,
)


def mutables(value: Any) -> set[int]:
    """The identities of all parts that can change."""
    if isinstance(value, dict):
        parts = [*value, *value.values()]
    elif isinstance(value, (list, tuple, set, frozenset, Row)):
        parts = list(value)
    else:
        parts = list(vars(value).values()) if isinstance(value, (Frozen, Box)) else []
    found = set().union(*map(mutables, parts))
    return found | {id(value)} if isinstance(value, (list, dict, set, Row, Box)) else found


@given(VALUES)
def test_a_copy_is_equal_and_shares_no_mutable_object(value: Any) -> None:
    copied = own(value)
    assert copied == value
    assert type(copied) is type(value)
    assert not mutables(copied) & mutables(value)
    assert (copied is value) == (not mutables(value))


@given(st.lists(VALUES, max_size=5))
def test_values_of_a_batch_are_found_immutable_only_if_they_are(values: list[Any]) -> None:
    if are_immutable(values):
        assert not any(map(mutables, values))
    assert own_all(copy.deepcopy(values)) == values


def test_flat_values_cost_no_copy() -> None:
    values = [1, "a", ("a", 1), ("a", (1, None)), frozenset("a"), Color.RED, Frozen((1,)), Pair(1, 2)]
    assert all(own(value) is value for value in values)
    assert are_immutable([1, "a", ("a", (1, ()))])


def test_local_objects_are_copied_and_uncopyable_ones_passed_on() -> None:
    class Local:
        def __init__(self, parts: list[int]) -> None:
            self.parts = parts

    value, lock = Local([1]), threading.Lock()
    for _ in range(2):
        copied = own([value])[0]
        value.parts.append(2)
        assert copied.parts == value.parts[:-1]
    assert own(lock) is lock


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Types.TUPLE([Types.INT(), Types.PICKLED_BYTE_ARRAY()]), (1, [])),
        (Types.ROW([Types.PICKLED_BYTE_ARRAY()]), Row([])),
        (Types.LIST(Types.PICKLED_BYTE_ARRAY()), [[]]),
        (Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY()), {"a": []}),
    ],
)
def test_declared_types_share_nothing_with_their_argument(declared: Any, value: Any) -> None:
    convert = coercer(declared)
    assert convert is not None
    assert convert(value) == value
    assert not mutables(convert(value)) & mutables(value)
    assert not is_immutable_type(declared)
