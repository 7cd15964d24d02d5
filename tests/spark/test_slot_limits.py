"""A job that takes more than its slot has fails alone, with the operator's name; others go on."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.errors import FiresteelError
from firesteel.runtime.process_usage import process_trees

pytestmark = pytest.mark.spark

HUNGRY = "x = bytearray(b'x') * (150 << 20); import time; time.sleep(60)"
TOO_MUCH = {
    "memory": (
        "taskmanager.slot.memory-limit",
        "200 mb",
        "bytearray(400 << 20)",
        r"operator 'greedy' .*failed: MemoryError: the slot has taskmanager\.slot\.memory-limit of 200 MiB",
    ),
    "arrow": (
        "taskmanager.slot.memory-limit",
        "200 mb",
        "__import__('pyarrow').allocate_buffer(400 << 20)",
        r"operator 'greedy' .*failed: ArrowMemoryError: .*; the slot has taskmanager\.slot\.memory-limit of 200 MiB",
    ),
    "descriptors": (
        "taskmanager.slot.descriptors-limit",
        "50",
        "[open('/dev/null') for _ in range(100)]",
        r"operator 'greedy' .*failed: OSError: .*Too many open files.*; the slot has taskmanager\.slot\.desc\S+ of 50",
    ),
    "memory of children": (
        "taskmanager.slot.memory-limit",
        "300 mb",
        f"[subprocess.Popen([sys.executable, '-c', {HUNGRY!r}]) for _ in range(3)] and time.sleep(60)",
        r"operator 'greedy' .*failed: the processes of the slot use \d+ MiB of memory: the slot has .* of 300 MiB",
    ),
    "processes": (
        "taskmanager.slot.processes-limit",
        "3",
        "[subprocess.Popen(['sleep', '60']) for _ in range(5)] and time.sleep(60)",
        r"operator 'greedy' .*failed: user code has started 5 processes: the slot has .* of 3",
    ),
}


@pytest.mark.parametrize("limit", TOO_MUCH)
def test_a_job_that_takes_more_than_its_slot_has_fails_with_the_name_of_the_operator(limit: str) -> None:
    option, value, code, message = TOO_MUCH[limit]
    options = {option: value, "restart-strategy.type": "none"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(1)

    def greedy(number: int) -> int:
        if number == 5:
            eval(code, {"subprocess": subprocess, "sys": sys, "time": time})
        return number

    numbers = env.from_source(NumberSequenceSource(0, 9), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    numbers.map(greedy, Types.LONG()).name("greedy").add_sink(lambda number: None)
    with pytest.raises(FiresteelError, match=f"(?s){message}"):
        env.execute("greedy")


def test_a_job_restarts_in_another_process_after_it_has_used_up_its_memory(tmp_path: Path) -> None:
    options = {
        "taskmanager.slot.memory-limit": "200 mb",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "10 ms",
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.set_parallelism(1)
    marker, held = tmp_path / "once", []

    def greedy(number: int) -> int:
        import os

        if number == 5 and not marker.exists():
            marker.write_text(str(os.getpid()))
            while True:
                held.append(bytearray(1 << 20))
        return os.getpid()

    numbers = env.from_source(NumberSequenceSource(0, 9), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    with numbers.map(greedy, Types.LONG()).name("greedy").execute_and_collect("greedy") as results:
        processes = set(results)
    assert len(processes) == 1
    assert int(marker.read_text()) not in processes


def test_the_tree_of_a_process_has_its_children_and_their_memory() -> None:
    program = """
        import subprocess, sys
        code = "x = bytearray(b'x') * (50 << 20); print(1, flush=True); input()"
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        child.stdout.readline()
        print(child.pid, flush=True)
        input()
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    tree = process_trees([process.pid, 2**22 + 1])[process.pid]
    assert tree.children == (child,)
    assert tree.used_bytes > 50 << 20
    process.communicate("\n")
