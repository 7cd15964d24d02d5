"""Pools of threads when Python ends."""

from __future__ import annotations

import subprocess
import sys

_PROGRAM = """
import asyncio, atexit
from firesteel.runtime.thread_pools import SPARK
atexit.register(lambda: print(asyncio.run(SPARK.run(sum, [1, 2]))))
print(asyncio.run(SPARK.run(sum, [3, 4])))
"""


def test_work_at_the_end_of_python_is_done_although_the_threads_are_gone() -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["7", "3"], "")
