"""Entries of other releases: read if they can be, else refused with the names of both releases."""

from __future__ import annotations

import pickle
import re

import pytest

from firesteel.common.release import release
from firesteel.runtime.highavailability import entry_codec
from firesteel.runtime.highavailability.entry_codec import EntryCodec, dump_value, load_value
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError, EntryVersionError

CODEC = EntryCodec(b"sixteen or more bytes", "/default")


def test_a_release_without_versions_reads_the_entries_of_this_one() -> None:
    assert pickle.loads(dump_value({"a": 1})) == {"a": 1}


def test_entries_of_a_release_without_versions_are_read() -> None:
    signed = CODEC.sign("jobs", "a", pickle.dumps({"a": 1}))
    assert CODEC.decode("jobs", "a", signed) == {"a": 1}


@pytest.mark.parametrize(("version", "readable_from"), [(3, 2), (9, 1)])
def test_entries_of_a_later_release_are_read_if_it_says_so(
    monkeypatch: pytest.MonkeyPatch, version: int, readable_from: int
) -> None:
    entry = of_later_release(monkeypatch, version, readable_from)
    assert load_value("jobs", "a", entry) == "graph"


def test_other_entries_of_a_later_release_are_refused_with_both_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = of_later_release(monkeypatch, 4, 3)
    expected = (
        f"the entry of job a in 'jobs' was written by firesteel 9.1.0 in format 4, and this process is firesteel "
        f"{release()}, which reads formats up to 2: start JobManagers of the later release"
    )
    with pytest.raises(EntryVersionError, match=re.escape(expected)):
        load_value("jobs", "a", entry)


def test_a_class_that_another_release_has_elsewhere_is_told_with_both_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = of_later_release(monkeypatch, 2, 1, release).replace(b"firesteel.common", b"firesteel.former")
    expected = f"firesteel 9.1.0 wrote it, and this is firesteel {release()}"
    with pytest.raises(CorruptEntryError, match=re.escape(expected)):
        load_value("jobs", "a", entry)


def of_later_release(
    monkeypatch: pytest.MonkeyPatch, version: int, readable_from: int, value: object = "graph"
) -> bytes:
    with monkeypatch.context() as later:
        later.setattr(entry_codec, "ENTRY_VERSION", version)
        later.setattr(entry_codec, "READABLE_FROM", readable_from)
        later.setattr(entry_codec, "release", lambda: "9.1.0")
        return dump_value(value)
