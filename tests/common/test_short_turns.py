"""Threads with short turns at the processor: the kernel says so, and other threads keep theirs."""

from __future__ import annotations

import os
import platform
import threading

import pytest

from firesteel.common import short_turns
from firesteel.common.short_turns import take_short_turns

KERNEL = tuple(int(part) for part in platform.release().split(".")[:2]) if platform.system() == "Linux" else (0, 0)


def taken() -> bool:
    """Return what a thread of its own gets."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(take_short_turns()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.skipif(KERNEL < (6, 12), reason="the kernel has turns of one length")
def test_a_thread_gets_short_turns_and_keeps_its_nice_value() -> None:
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert taken()
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_other_systems_have_no_such_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("machine", "riscv64"), ("system", "Darwin")):
        with monkeypatch.context() as other:
            other.setattr(short_turns.platform, name, lambda value=value: value)
            assert not taken()
