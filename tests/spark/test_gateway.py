"""The JVM of a process, when it is killed. In a process of its own: the tests share one SparkContext."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.spark

KILLED_WHILE_THE_CONTEXT_IS_MADE = """
import os, signal
import pyspark
from firesteel.spark.gateway import SparkGateway

gateway = SparkGateway("local[1]", {})
made = pyspark.SparkContext._initialize_context

def killed(self, configuration):
    os.kill(gateway._process.pid, signal.SIGKILL)
    gateway._process.wait()
    return made(self, configuration)

pyspark.SparkContext._initialize_context = killed
try:
    gateway.context()
except Exception as error:
    print(type(error).__name__)
pyspark.SparkContext._initialize_context = made
print(gateway.context().parallelize([1, 2, 3], 1).sum())
gateway.close()
"""


def test_another_jvm_is_started_if_one_is_killed_while_its_context_is_made() -> None:
    program = [sys.executable, "-c", KILLED_WHILE_THE_CONTEXT_IS_MADE]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.splitlines()[1:] == ["6"], done.stderr
