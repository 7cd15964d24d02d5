"""Key groups of texts do not change, as savepoints contain them."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.hashing import key_groups, row_hashes

TEXTS = st.none() | st.text(max_size=4) | st.text("ab", min_size=28, max_size=50)


def polynomial(text):
    data = (text or "").encode()
    return (sum((byte + 1) * 1099511628211**place for place, byte in enumerate(data)) + len(data)) % 2**64


def mixed(value):
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ value >> 27) * 0x94D049BB133111EB % 2**64
    return value ^ value >> 31


@given(st.lists(TEXTS), st.integers(0, 3))
def test_texts_have_the_same_hashes_in_any_batch(texts, start):
    array = pa.array(texts, pa.string()).slice(start)
    for column in (array, array.cast(pa.binary())):
        found = row_hashes(ColumnBatch((column,), len(column)), [0])
        values = [0x5BD1E995 if text is None else polynomial(text) for text in texts[start:]]
        assert found.tolist() == [mixed(mixed(value)) for value in values]


def test_key_groups_are_those_of_earlier_versions():
    rows = ColumnBatch((pa.array(["user-1", "user-22", None, "", "x" * 40]), pa.array(range(5))), 5)
    assert key_groups(rows, [0, 1], 128).tolist() == [46, 0, 38, 90, 51]
