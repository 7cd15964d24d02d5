from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from firesteel.common.garbage_collection import collect_garbage_in_short_turns, collect_garbage_rarely


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_the_usual_thresholds_are_raised() -> None:
    gc.set_threshold(700, 10, 10)
    collect_garbage_rarely()
    assert gc.get_threshold()[0] == 50_000


@pytest.mark.parametrize("chosen", [(0, 10, 10), (100_000, 5, 5)])
def test_explicit_settings_are_kept(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    collect_garbage_rarely()
    assert gc.get_threshold() == chosen


@pytest.mark.parametrize("chosen", [(0, 10, 10), (100_000, 5, 5), (700, 10, 10)])
def test_other_settings_know_no_short_turns(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    for are_short in (True, False):
        collect_garbage_in_short_turns(are_short)
        assert gc.get_threshold() == chosen
