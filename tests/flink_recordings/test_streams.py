"""Compares DataStream programs over thousands of elements out of order with what PyFlink gave for them."""

from __future__ import annotations

import os

import pytest

from firesteel.compat import alias_pyflink
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.testing import run_local
from tests.flink_recordings.large.folding import summary
from tests.flink_recordings.recordings import recorded_streams
from tests.flink_recordings.streams.cases import PARALLELISM, builders

pytestmark = pytest.mark.slow

PYFLINK_TIMERS = "PyFlink fires timers of a key too early and twice"
DIFFERENT = {
    **dict.fromkeys(
        (f"functions.{name} BATCH" for name in ("at_the_end", "timers_of_two", "broadcast_rules")), PYFLINK_TIMERS
    ),
    "functions.timers_of_timers BATCH": "Flink ignores timers that the last timers of a key register; "
    "PyFlink registers them too late for that",
}
"""What firesteel does differently, and why; each of them must still differ."""

EVERY = 1 if os.environ.get("FIRESTEEL_ALL_RECORDINGS") else 7
BATCH_ELEMENTS = 1000


def lines_of(key: str) -> list[str]:
    """Return the sorted results of a program in a mode."""
    alias_pyflink()
    name, mode = key.split()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode[mode])
    env.set_parallelism(PARALLELISM)
    builders()[name](env).collect_async()
    elements = BATCH_ELEMENTS if mode == "STREAMING" else None
    return sorted(map(str, run_local(env, batch_elements=elements).elements))


@pytest.mark.parametrize("key", [*sorted(recorded_streams())][::EVERY])
def test_a_program_gives_what_pyflink_gives(key: str) -> None:
    recorded = recorded_streams()[key]
    if "error" in recorded:
        pytest.skip(f"PyFlink does not run it: {recorded['error']}")
    assert (summary(lines_of(key)) != recorded) == (key in DIFFERENT)
