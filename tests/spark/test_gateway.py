"""A killed JVM is replaced. The test runs in a separate process because the others share one SparkContext."""

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


CLOSED_DURING_A_CALL = """
import os, signal, threading
from firesteel.spark.gateway import SparkGateway

gateway = SparkGateway("local[1]", {})
count = gateway.context()._jvm.java.lang.Thread.activeCount
sent, ended = threading.Event(), []

def call():
    count()
    os.kill(gateway._process.pid, signal.SIGSTOP)  # It resets the connection, as it never reads the next call.
    sent.set()
    try:
        count()
    except Exception as error:
        ended.append(type(error).__name__)

thread = threading.Thread(target=call)
thread.start()
sent.wait()
threading.Event().wait(0.3)
gateway.close()
thread.join()
print(ended)
"""


def test_a_call_that_ends_with_the_jvm_leaves_no_trace_of_py4j() -> None:
    program = [sys.executable, "-c", CLOSED_DURING_A_CALL]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "['Py4JError']\n", done.stderr
    assert "Traceback" not in done.stderr


LOCAL_RUN = r"""
import os
from firesteel.entrypoint.spark_session import shared_gateway
from tests.processes import command_line, processes_below
from tests.spark.listening_sockets import is_loopback, listening_sockets

options = {
    "spark.master": "local[1]",
    "spark.ui.enabled": "true",
    "spark.my.password": "hush: é = ! # \\ hush",
    "spark.driver.extraJavaOptions": "-Dmy.password='hush \\ hush'",
}
context = shared_gateway(options).context()
print(context.parallelize([1, 2, 3], 1).map(lambda n: n + 1).sum())
sockets = listening_sockets(os.getpid())
print(len(sockets) >= 3, [socket for socket in sockets if not is_loopback(socket[0])])
print([line for line in map(command_line, list(processes_below(os.getpid()))[1:]) if "hush" in line])
print(context.getConf().get("spark.authenticate"))
print(context.getConf().get("spark.my.password") == options["spark.my.password"])
print(context._jvm.java.lang.System.getProperty("spark.my.password") == options["spark.my.password"])
print(context._jvm.java.lang.System.getProperty("my.password"))
"""


def test_a_local_run_listens_on_loopback_authenticates_and_hides_its_settings() -> None:
    done = subprocess.run([sys.executable, "-c", LOCAL_RUN], capture_output=True, text=True, timeout=120, check=False)
    expected = ["9", "True []", "[]", "true", "True", "True", "hush \\ hush"]
    assert done.stdout.splitlines() == expected, done.stdout + done.stderr


INTERRUPTED = """
from firesteel.spark import gateway

start, started = gateway.SparkGateway._start, []

def recorded(self):
    started.append(start(self))
    return started[0]

def interrupted(path):
    raise KeyboardInterrupt

gateway.SparkGateway._start, gateway.CappedFile = recorded, interrupted
try:
    gateway.SparkGateway("local[1]", {})
except KeyboardInterrupt:
    print(started[0].poll())
"""


def test_no_jvm_is_left_by_an_interrupt_while_it_starts() -> None:
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "-9\n", done.stdout + done.stderr
