"""firesteel in a real kernel: what a user sees below the cells."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from queue import Empty
from typing import Any

import pytest
from jupyter_client.manager import start_new_kernel

pytestmark = [pytest.mark.spark, pytest.mark.libraries]


class Kernel:
    """A kernel, and what it shows for a cell: (kind, text or HTML)."""

    def __init__(self) -> None:
        self._manager, self._client = start_new_kernel(kernel_name="python3")

    def run(self, code: str, stop_when: str = "") -> list[tuple[str, str]]:
        """Run a cell, and interrupt it as soon as it shows a text."""
        sent = self._client.execute(code)
        shown: list[tuple[str, str]] = []
        deadline_s = time.monotonic() + 120
        while time.monotonic() < deadline_s:
            try:
                message = self._client.get_iopub_msg(timeout=1)
            except Empty:
                continue
            content = message["content"]
            if message["parent_header"].get("msg_id") != sent:
                continue
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return shown
            if message["msg_type"] == "stream":
                shown.append((content["name"], content["text"]))
            elif message["msg_type"] == "error":
                shown.append(("error", content["ename"]))
            elif "data" in content:
                data = content["data"]
                shown.append((message["msg_type"], data.get("text/html") or data["text/plain"]))
            if stop_when and shown and stop_when in shown[-1][1]:
                self._manager.interrupt_kernel()
                stop_when = ""
        raise AssertionError(f"the cell does not end: {shown}")

    def stop(self) -> None:
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    kernel = Kernel()
    assert kernel.run("%load_ext firesteel") == []
    yield kernel
    kernel.stop()


def test_statements_and_results_are_tables(kernel):
    created = "CREATE TABLE t (n INT) WITH ('connector' = 'datagen', 'number-of-rows' = '5')"
    [(kind, shown)] = kernel.run(f"%%sql\nSET 'parallelism.default' = '1';\n{created};\nSHOW TABLES")
    assert (kind, "<td>t</td>" in shown) == ("display_data", True)
    *_, (_, last) = kernel.run("%%sql -o counts\nSELECT COUNT(*) AS c FROM t")
    assert "<tr><td>5</td></tr>" in last
    assert "1 row; ended" in last
    assert kernel.run("print(counts.c.tolist())") == [("stdout", "[5]\n")]
    [(_, columns)] = kernel.run("t_env.from_path('t')")
    assert "<tr><td>n</td><td>INT</td></tr>" in columns


def test_a_query_without_end_is_stopped_and_keeps_its_rows(kernel):
    created = "CREATE TABLE u (n INT) WITH ('connector' = 'datagen', 'rows-per-second' = '50')"
    *_, (_, last) = kernel.run(f"%%sql -n 3 --changelog\n{created};\nSELECT n FROM u", stop_when="shown; running")
    assert "shown; stopped" in last
    assert last.count("<td>+I</td>") == 3


def test_a_job_has_a_line_and_its_error_fits_a_screen(kernel):
    program = """
from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
stream = env.from_collection([1, 2, {last}]).map(lambda n: 10 // n, Types.INT())
stream.print()
env.execute("division")
"""
    shown = kernel.run(program.format(last=5))
    assert any(kind == "update_display_data" and "division: FINISHED" in text for kind, text in shown)
    printed = "".join(text for kind, text in shown if kind == "stdout")
    assert sorted(line.partition("> ")[2] for line in printed.splitlines()) == ["10", "2", "5"]
    assert "run time" in shown[-1][1]
    shown = kernel.run(program.format(last=0))
    [error] = [text for kind, text in shown if kind == "stderr"]
    assert "ZeroDivisionError" in error
    assert "on record 0" in error
    places = re.findall(r"^  at cell \d+, line (.*)$", error, re.MULTILINE)
    map_line, execute_line = program.format(last=0).splitlines()[5], 'env.execute("division")'
    assert places == [f"5, in <lambda>: {map_line}", f"7: {execute_line}"]
    assert len(error.splitlines()) < 8
    assert ("error", "JobFailedError") not in shown


def test_mistakes_are_one_message(kernel):
    [(kind, text)] = kernel.run("%%sql\nselct 1")
    assert (kind, text.splitlines()[0]) == (
        "stderr",
        'SqlParserException: SQL parse failed. Encountered "selct" at line 1, column 1 (did you mean "SELECT"?).',
    )
    assert text.splitlines()[1:] == ["(%tb shows the whole traceback)"]
    stream = "from firesteel.datastream import *\nenv = StreamExecutionEnvironment.get_execution_environment()\n"
    for call, message in (
        ("reduce(max)", "AttributeError: 'DataStream' object has no attribute 'reduce'; call key_by() first"),
        ("mapp(str)", "AttributeError: 'DataStream' object has no attribute 'mapp'; did you mean 'map'?"),
        ("process(3)", "TypeError: process() takes a ProcessFunction; found int 3"),
    ):
        [(kind, text)] = kernel.run(f"{stream}env.from_collection([1]).{call}")
        assert (kind, text.splitlines()[0]) == ("stderr", message)
        assert re.fullmatch(rf"  at cell \d+, line 3: .*\.{re.escape(call)}", text.splitlines()[1])
    [(kind, text)] = kernel.run("int('x')")
    assert (kind, text) == ("error", "ValueError")
    [(kind, text)] = kernel.run("%%sql --nope\nSELECT 1")
    assert "%%sql has no option --nope" in text


def test_an_interrupt_cancels_a_job(kernel):
    endless = """
from firesteel.common import WatermarkStrategy
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_source(NumberSequenceSource(0, 10**12), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
numbers.filter(lambda n: n == 7).print()
env.execute("endless")
"""
    shown = kernel.run(endless, stop_when="> 7")
    assert ("stderr", "Interrupted: the job was cancelled.\n") in shown
    assert any("endless: CANCELED" in text for _, text in shown)
