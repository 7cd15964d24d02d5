from __future__ import annotations

import json
import logging
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.logs import (
    _TEXT,
    JsonFormatter,
    TextFormatter,
    about,
    configure_logging,
    leave_log_to_the_program,
    most_log_files,
)
from tests.runtime.helpers import an_id, job_graph
from tests.runtime.simulated import Cluster

PROGRAM = """
import logging, sys
from firesteel.runtime.logs import about, configure_logging
configure_logging({"env.log.format": sys.argv[1]})
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("name").exception("what %s", "happened", extra=about("a-job", None, 3))
"""


def logged(kind: str) -> str:
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, check=True)
    return done.stderr


def test_a_json_log_line_has_the_ids_of_its_subject() -> None:
    (line,) = logged("json").splitlines()
    found = json.loads(line)
    assert datetime.fromisoformat(found.pop("time")).tzinfo is not None
    assert "ZeroDivisionError: division by zero" in found.pop("exception")
    assert found == {"level": "ERROR", "logger": "name", "message": "what happened", "job_id": "a-job", "subtask": 3}


def test_a_text_log_line_has_the_ids_of_its_subject() -> None:
    first, *story = logged("text").splitlines()
    assert first.endswith(" ERROR name [job_id a-job, subtask 3] - what happened")
    assert story[-1] == "ZeroDivisionError: division by zero"


def test_levels_are_set_by_the_configuration() -> None:
    program = """
import logging
from firesteel.runtime.logs import configure_logging
configure_logging({"env.log.level": "ERROR, chatty=DEBUG"}, "WARNING")
logging.getLogger("other").warning("unheard")
logging.getLogger("chatty.part").debug("heard")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [line.rpartition(" - ")[2] for line in done.stderr.splitlines()] == ["heard"]


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="'LOUD' is no level; allowed: TRACE"):
        configure_logging({"env.log.level": "INFO, firesteel=LOUD"})


def test_another_format_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="'xml' is unknown; allowed: text, json"):
        configure_logging({"env.log.format": "xml"})


async def test_states_of_jobs_and_tasks_are_logged_with_their_ids(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="firesteel")
    cluster = Cluster(clock)
    await cluster.start(tm=2)
    job_id = await cluster.submit(job_graph(("a", 2, [])))
    await cluster.stop()
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    tasks = [line for line in lines if "subtask" in line and " switched to RUNNING" in line["message"]]
    assert [(line["job_id"], line["vertex_id"], line["subtask"]) for line in tasks] == [
        (job_id, an_id("a"), 0),
        (job_id, an_id("a"), 1),
    ]
    assert any(line["message"].startswith("Job job ") and line["job_id"] == job_id for line in lines)


def test_unknown_fields_are_omitted() -> None:
    record = logging.makeLogRecord({"msg": "x", **about("a-job")})
    assert "vertex_id" not in json.loads(JsonFormatter().format(record))


@pytest.mark.parametrize(("chosen", "level"), [(logging.NOTSET, logging.WARNING), (logging.DEBUG, logging.DEBUG)])
def test_a_programs_log_keeps_its_own_level(chosen: int, level: int) -> None:
    logger = logging.getLogger("firesteel")
    before = logger.level
    try:
        logger.setLevel(chosen)
        leave_log_to_the_program()
        assert logger.level == level
    finally:
        logger.setLevel(before)


ROTATING = """
import logging, sys
from pathlib import Path
from firesteel.runtime import logs
logs._LARGEST_FILE = 100
logs.configure_logging({"env.log.max": "3"}, log_file=Path(sys.argv[1]), has_terminal=False)
for number in range(100):
    logging.getLogger("name").info("line %d", number)
"""


def test_full_log_files_are_rotated_and_the_configured_number_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "jobmanager.log"
    command = [sys.executable, "-c", ROTATING, str(path)]
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""
    assert sorted(found.name for found in tmp_path.iterdir()) == [
        "jobmanager.log",
        *(f"{path.name}.{i}" for i in "123"),
    ]
    assert path.read_text().endswith("line 99\n")
    monkeypatch.setenv("MAX_LOG_FILE_NUMBER", "1")
    assert most_log_files({"env.log.max": "3"}) == 1
    monkeypatch.delenv("MAX_LOG_FILE_NUMBER")
    assert most_log_files({}) == 10
    with pytest.raises(InvalidOptionError, match=r"'env\.log\.max': '0' is not a whole number of at least 1"):
        most_log_files({"env.log.max": "0"})


FORGED = "2026-11-25 00:00:00,000 INFO  firesteel.runtime - the administrator has logged in"


@pytest.mark.parametrize("end_of_line", ["\n", "\r", "\r\n", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
@pytest.mark.parametrize("formatter", [TextFormatter(_TEXT), JsonFormatter()])
def test_no_name_forges_a_line(formatter: logging.Formatter, end_of_line: str) -> None:
    name = f"job{end_of_line}{FORGED}\x1b[2J"
    try:
        raise ValueError(name)
    except ValueError as error:
        exc_info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("name", logging.INFO, "", 0, "job %s is running", (name,), exc_info)
    first, *others = formatter.format(record).splitlines()
    assert not [line for line in others if line.startswith("2026-")]
    assert "\x1b" not in first
    if isinstance(formatter, JsonFormatter):
        assert others == []
        assert json.loads(first)["message"] == f"job {name} is running"
