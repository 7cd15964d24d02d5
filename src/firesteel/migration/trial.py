"""A program on trial: runs in a process of its own up to its plans, and starts no job.

`python -m firesteel.migration.trial ORDER` runs the program that the file ORDER names, and appends what it finds to
another file, one JSON object per line.
"""

from __future__ import annotations

import builtins
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.parent_process import die_with_parent
from firesteel.compat import run_as_main
from firesteel.datastream.data_stream import DataStream
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.datastream.streams.pipeline_executor import set_pipeline_executor
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.functions.operator_descriptors import SourceOperator
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.stream_graph import StreamGraph
from firesteel.migration.ended_job import EndedJob, ended, itself, no_rows, nothing
from firesteel.migration.error_origin import is_ours, name_of, place_of, place_of_call, text_of
from firesteel.migration.findings import Kind
from firesteel.migration.no_network import NoNetworkError, leave_network
from firesteel.migration.rest_of_program import has_rest
from firesteel.pyflink1.tables.names import add_table_names
from firesteel.runtime.dispatcher.job_submission import checked
from firesteel.table.statement_set import StatementSet
from firesteel.table.table import Table
from firesteel.table.table_config import TableConfig
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_pipeline import TablePipeline

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__all__ = ["main"]

_GOES_ON: tuple[tuple[type, str, Callable[[object], object]], ...] = (
    (StreamExecutionEnvironment, "execute", ended),
    (StreamExecutionEnvironment, "execute_async", lambda _: EndedJob()),
    (DataStream, "execute_and_collect", nothing),
    (TableConfig, "set", itself),
    (TableEnvironment, "execute_sql", no_rows),
    (TableEnvironment, "sql_update", lambda _: None),
    (TableEnvironment, "execute", ended),
    (StatementSet, "execute", no_rows),
    (TablePipeline, "execute", no_rows),
    (Table, "execute", no_rows),
    (Table, "execute_insert", no_rows),
)
"""The methods after whose errors a trial goes on, those of PyFlink 1 too, and what they return, given the object."""


_NO_RESULT = "a trial has no results, and the program asks for one"

_CREATE = re.compile(
    r"\s*CREATE\b[\w\s]*?\b(?:TABLE|VIEW|FUNCTION|CATALOG|DATABASE|MODEL)\s+(?:IF\s+NOT\s+EXISTS\s+)?([\w.`]+)", re.I
)
"""The beginning of a statement that creates an object, with the path of the object."""


class _TimeIsUpError(BaseException):
    """The trial has taken too long."""


class _Trial:
    """What one trial finds.

    Args:
        program: File of the program.
        found: The file to which findings are appended.
    """

    def __init__(self, program: Path, found: Path) -> None:
        self._directory = str(program.parent)
        self._found = found
        self._lost: set[str] = set()
        self._is_planned = False
        self._awaited: str | None = None

    def find(self, kind: Kind, frame: tuple[str, int], name: str, advice: str) -> None:
        """Append a finding."""
        self._append({"kind": kind.name, "path": frame[0], "line": frame[1], "name": name, "advice": advice})

    def executed(self, path: str, line: int) -> None:
        """Note that a line was executed."""
        self._append({"executed": [path, line]})

    def _append(self, entry: dict[str, object]) -> None:
        with self._found.open("a") as file:
            file.write(json.dumps(entry) + "\n")

    # --- jobs --------------------------------------------------------------------------------------------------------

    def check(self, stream_graph: StreamGraph, configuration: Configuration) -> None:
        """Raise the error with which a submission would be rejected."""
        checked(stream_graph, configuration.to_dict())

    def execute(self, stream_graph: StreamGraph, configuration: Configuration) -> JobExecutionResult:
        """Plan the job, for which the program waits."""
        self._await(self._plan(stream_graph, configuration))
        return ended()

    def execute_async(self, stream_graph: StreamGraph, configuration: Configuration) -> JobClient:
        """Plan the job."""
        return EndedJob(partial(self._await, self._plan(stream_graph, configuration)))

    def _plan(self, stream_graph: StreamGraph, configuration: Configuration) -> JobGraph:
        job_graph = checked(stream_graph, configuration.to_dict())
        place = place_of_call(sys._getframe(), self._directory)
        operators = len(stream_graph.nodes)
        self._is_planned = True
        self._append({"job": job_graph.name, "operators": operators, "path": place[0], "line": place[1]})
        return job_graph

    def _await(self, job_graph: JobGraph) -> None:
        sources = [operator.operator for vertex in job_graph.vertices for operator in vertex.chain[:1]]
        if any(isinstance(one, SourceOperator) and not one.source.is_bounded() for one in sources):
            self._awaited = self._awaited or job_graph.name

    def collect(
        self, stream_graph: StreamGraph, configuration: Configuration, collect_id: str, limit: int | None
    ) -> CloseableIterator[object]:
        """Plan the job, which has no results."""
        self._plan(stream_graph, configuration)
        return nothing()

    # --- errors ------------------------------------------------------------------------------------------------------

    def go_on(self) -> None:
        """Go on after the errors of statements and jobs."""
        for owner, name, result in _GOES_ON:
            setattr(owner, name, self._forgiving(getattr(owner, name), result))

    def _forgiving(self, method: Callable[..., object], result: Callable[[object], object]) -> Callable[..., object]:
        @wraps(method)
        def call(called: object, *args: object, **options: object) -> object:
            try:
                return method(called, *args, **options)
            except NoNetworkError:
                raise
            except Exception as error:
                if not is_ours(error):
                    raise
                self._failed(place_of_call(sys._getframe(1), self._directory), error)
                self._lost.update(created[1].strip("`") for text in args if (created := _CREATE.match(str(text))))
                return result(called)

        return call

    def _failed(self, place: tuple[str, int], error: BaseException) -> None:
        """Record an error of ours, unless it follows from that of a statement which was to create something.

        An error after the program has waited for a job that never ends does not happen where it is run.
        """
        text = text_of(error)
        if self._awaited is not None:
            advice = f"the program waits for job {self._awaited!r}, which never ends, before it gets here: {text}"
            self.find(Kind.UNCHECKED, place, name_of(error), advice)
            return
        lost = next((name for name in self._lost if re.search(rf"\b{re.escape(name)}\b", text)), None)
        if lost is None:
            self.find(Kind.FAILS, place, name_of(error), text)
        else:
            self.find(Kind.UNCHECKED, place, lost, "the statement needs it, and it could not be created")

    def stopped(self, error: BaseException) -> None:
        """Record what ended the program before its end."""
        place = place_of(error.__traceback__, self._directory)
        if isinstance(error, _TimeIsUpError | StopIteration):
            # After its job is planned, it may run for ever, or read results, of which there are none.
            if not self._is_planned or has_rest(error.__traceback__, self._directory):
                self.find(Kind.UNCHECKED, place, "what follows", str(error) or _NO_RESULT)
        elif isinstance(error, SystemExit):
            if error.code not in (None, 0):
                hint = "; does it need arguments?" if error.code == 2 else ""
                self.find(Kind.UNCHECKED, place, "what follows", f"the program ended with exit code {error.code}{hint}")
        elif is_ours(error):
            self._failed(place, error)
        else:
            self.find(Kind.UNCHECKED, place, "what follows", f"the program stopped: {name_of(error)}: {text_of(error)}")


class _Notes(logging.Handler):
    """Turns firesteel's warnings into findings."""

    def __init__(self, trial: _Trial, directory: str) -> None:
        super().__init__(logging.WARNING)
        self._trial, self._directory = trial, directory

    def emit(self, record: logging.LogRecord) -> None:
        name, _, advice = record.getMessage().partition(": ")
        place = place_of_call(sys._getframe(), self._directory)
        self._trial.find(Kind.DIFFERS, place, name if advice else record.levelname.lower(), advice or name)


def main(order: Path) -> None:
    """Try a program.

    Args:
        order: A file with a JSON object: `program`, `arguments`, `seconds`, `found`, `roots`, and the `doubtful` lines
            of which the trial says whether they were executed: file, line, and whether it is meant in a lambda.
    """
    die_with_parent()
    task = json.loads(order.read_text())
    program = Path(task["program"]).absolute()
    trial = _Trial(program, Path(task["found"]))
    set_pipeline_executor(trial)
    add_table_names()
    trial.go_on()
    logging.getLogger("firesteel").addHandler(_Notes(trial, str(program.parent)))
    logging.getLogger("firesteel").propagate = False
    builtins.input = _no_input
    leave_network()
    _limit(task["seconds"])
    if task["doubtful"]:
        sys.settrace(_tracer(trial, {(path, line, in_lambda) for path, line, in_lambda in task["doubtful"]}))
    sys.path += task["roots"]
    try:
        run_as_main(program, tuple(task["arguments"]), pyflink=True)
    except BaseException as error:
        trial.stopped(error)
    finally:
        sys.settrace(None)


def _no_input(*_: object) -> NoReturn:
    raise EOFError("a program is checked without input")


def _limit(seconds: float) -> None:
    def up(number: int, frame: FrameType | None) -> None:
        raise _TimeIsUpError(f"the program had not ended after {seconds:g} s")

    signal.signal(signal.SIGALRM, up)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _tracer(trial: _Trial, doubtful: set[tuple[str, int, bool]]) -> TraceFunction:
    files = {path for path, _, _ in doubtful}

    def trace(frame: FrameType, event: str, _: object) -> TraceFunction | None:
        file = frame.f_code.co_filename
        if file not in files:
            return None
        place = file, frame.f_lineno, frame.f_code.co_name == "<lambda>"
        if event == "line" and place in doubtful:
            doubtful.discard(place)
            trial.executed(file, frame.f_lineno)
        return trace

    return trace


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    os._exit(0)  # whatever threads the program has left
