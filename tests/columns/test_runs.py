"""A store of runs is a dictionary that knows what has changed, whatever is in memory and whatever hashes collide."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.columns.runs import run_store
from firesteel.columns.runs.entries import Entries, sorted_by_hash
from firesteel.columns.runs.run_file import RunFile
from firesteel.columns.runs.run_store import RunStore
from tests.columns.spilling import FixedSpill
from tests.seeds import examples

GONE = -1
"""The number of an entry that is not needed any more."""


def sought(keys: Iterable[str], hashes: int) -> tuple[Entries, np.ndarray]:
    """Keys with so many different hashes; the least and the greatest possible ones are among them."""
    column = pa.array(keys, pa.large_string())
    step = (2**64 - 1) // max(hashes - 1, 1)
    return sorted_by_hash(np.array([ord(key[0]) % hashes * step for key in keys], np.uint64), [column])


def rows(parts: Iterable[Entries]) -> list[tuple[str, int, object]]:
    """The keys and values of entries, each of which is there once."""
    found = [
        row
        for part in map(Entries.decoded, parts)
        for row in zip(part.keys[0].to_pylist(), *(column.tolist() for column in part.values), strict=True)
    ]
    assert len({key for key, *_ in found}) == len(found)
    return found


def current(parts: Iterable[Entries]) -> dict[str, tuple[int, object]]:
    return {key: (number, value) for key, number, value in rows(parts) if number != GONE}


KEYS = st.sets(st.sampled_from([first + second for first in "abcdefgh" for second in ("", "x")]), min_size=1)
STEPS = st.lists(st.tuples(KEYS, st.sampled_from(["set", "set", "set", "remove", "seal", "all"])), max_size=15)


@settings(max_examples=examples(150), deadline=None)
@given(STEPS, st.sampled_from([1, 2, 8]), st.sampled_from([None, 0, 500, 2_000]))
def test_a_store_is_a_dictionary_that_knows_what_has_changed(steps, hashes, limit):
    spill = None if limit is None else FixedSpill(limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_store, "_MERGED_AT_ONCE", 3)
        patch.setattr(run_store, "_SMALL", 0)
        check_steps(RunStore(spill, lambda entries: entries.values[0] != GONE), steps, hashes)


def check_steps(store, steps, hashes):
    model, changed = {}, {}
    for number, (keys, step) in enumerate(steps):
        if step in ("seal", "all"):
            assert {key: tuple(rest) for key, *rest in rows(store.seal())} == changed
            changed = {}
            if step == "all":
                assert current(store.all()) == model
            continue
        chosen = sorted(keys)
        entries, order = sought(chosen, hashes)
        hits = store.find(entries, order)
        found = {
            chosen[to]: (count, value)
            for hit in hits
            for to, count, value in zip(hit.to.tolist(), hit.values(0).tolist(), hit.values(1).tolist(), strict=True)
            if count != GONE
        }
        assert found == {key: model[key] for key in chosen if key in model}
        value = GONE if step == "remove" else number
        texts = np.array([None, *chosen], object)[1:]
        store.update(entries, order, hits, [np.full(len(chosen), value), texts])
        changed |= {key: (value, key) for key in chosen}
        model = {key: kept for key, kept in model.items() if key not in keys}
        if step == "set":
            model |= {key: (value, key) for key in chosen}
    store.seal()
    assert current(store.all()) == model


def test_pages_of_a_file_are_read_again_after_they_have_left_memory():
    numbers = np.arange(4000)
    entries = Entries(numbers.astype(np.uint64), (pa.array(numbers),), (numbers,))
    file = RunFile(tempfile.gettempdir(), (entries.slice(at, at + 100) for at in range(0, 4000, 100)), 0)
    found = [chunk.values[0][chunk.find(entries.slice(*part))] for *part, chunk in file.parts_of(entries)]
    assert np.concatenate(found).tolist() == numbers.tolist()
    assert len(file) == 4000


def test_a_full_disk_names_the_directory_and_the_option():
    def chunks():
        raise OSError(errno.ENOSPC, "")
        yield

    with pytest.raises(
        OSError, match=r"No space left on device: state on disk needs more room; see state\.back"
    ) as found:
        RunFile(tempfile.gettempdir(), chunks(), 0)
    assert found.value.filename == tempfile.gettempdir()
