"""What a program and its functions print while progress is shown on the terminal."""

from __future__ import annotations

import io
import logging
import pty
import subprocess
import sys

from firesteel.client.terminal_logs import TerminalLogs
from firesteel.spark.forwarded_output import ForwardedOutput


def test_handlers_that_hold_a_stream_write_to_the_one_in_its_place() -> None:
    terminal, other, display = io.StringIO(), io.StringIO(), io.StringIO()
    logger = logging.getLogger("tests.terminal_logs")
    logger.propagate = False
    logger.handlers = [logging.StreamHandler(terminal), logging.StreamHandler(other)]
    logs = TerminalLogs([(terminal, display)])
    logger.warning("during")
    logs.restore()
    logger.warning("after")
    assert (terminal.getvalue(), other.getvalue()) == ("after\n", "during\nafter\n")
    assert display.getvalue() == "during\n"


def test_children_print_through_what_stands_for_the_terminal_of_their_parent(monkeypatch) -> None:
    ours, theirs = pty.openpty()
    with open(theirs, "w") as terminal, open(ours, "rb"):
        monkeypatch.setattr(sys, "stdout", terminal)
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        output = ForwardedOutput()
        assert (output.stdout, output.stderr) == (subprocess.PIPE, None)
        monkeypatch.setattr(sys, "stdout", display := io.StringIO())
        code = "import sys; sys.stdout.buffer.write('gr\\u00fcn\\n'.encode())"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=output.stdout, stderr=output.stderr)
        output.start(process)
        process.wait()
        output.join()
    assert display.getvalue() == "grün\n"
