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
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from functools import wraps
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, NoReturn

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.common.our_code import OUR_CODE
from firesteel.compat import run_as_main
from firesteel.datastream.data_stream import DataStream
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.datastream.streams.pipeline_executor import set_pipeline_executor
from firesteel.errors import FiresteelError
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.graph.stream_graph import StreamGraph
from firesteel.migration.findings import Kind
from firesteel.migration.no_network import NoNetworkError, leave_network
from firesteel.pyflink1.tables.names import add_table_names
from firesteel.runtime.dispatcher.job_submission import submittable
from firesteel.table.result_kind import ResultKind
from firesteel.table.statement_set import StatementSet
from firesteel.table.table import Table
from firesteel.table.table_config import TableConfig
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_pipeline import TablePipeline
from firesteel.table.table_result import TableResult
from firesteel.table.types import RowType

if TYPE_CHECKING:
    from _typeshed import TraceFunction

__all__ = ["main"]

_NO_JOB = JobID("0" * 32)


def _ended(*_: object) -> JobExecutionResult:
    return JobExecutionResult(_NO_JOB, 0)


class _EndedJob(JobClient):
    """The client of a job that was planned: it has ended without doing anything."""

    def get_job_id(self) -> JobID:
        return _NO_JOB

    def get_job_status(self) -> CompletableFuture:
        return _done(JobStatus.FINISHED)

    def cancel(self) -> CompletableFuture:
        return _done(None)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        return _done("")

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        return _done("")

    def get_accumulators(self) -> CompletableFuture:
        return _done({})

    def get_job_execution_result(self) -> CompletableFuture:
        return _done(_ended())


def _done(value: object) -> CompletableFuture:
    future: Future[object] = Future()
    future.set_result(value)
    return CompletableFuture(future)


def _nothing(*_: object) -> CloseableIterator[object]:
    return CloseableIterator((), job_client=_EndedJob())


def _no_rows(*_: object) -> TableResult:
    return TableResult(RowType([]), [], _EndedJob(), ResultKind.SUCCESS)


def _itself(called: object) -> object:
    return called


_GOES_ON: tuple[tuple[type, str, Callable[[object], object]], ...] = (
    (StreamExecutionEnvironment, "execute", _ended),
    (StreamExecutionEnvironment, "execute_async", lambda _: _EndedJob()),
    (DataStream, "execute_and_collect", _nothing),
    (TableConfig, "set", _itself),
    (TableEnvironment, "execute_sql", _no_rows),
    (TableEnvironment, "sql_update", lambda _: None),
    (TableEnvironment, "execute", _ended),
    (StatementSet, "execute", _no_rows),
    (TablePipeline, "execute", _no_rows),
    (Table, "execute", _no_rows),
    (Table, "execute_insert", _no_rows),
)
"""The methods after whose errors a trial goes on, those of PyFlink 1 too, and what they return, given the object."""


_CALL = re.compile(r"(\w+)(?:\.\w+)*\(\) (?:got|missing|takes)")
"""The message of a call with wrong arguments, with the first part of the function's name."""

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
        submittable(stream_graph, configuration.to_dict())

    def execute(self, stream_graph: StreamGraph, configuration: Configuration) -> JobExecutionResult:
        """Plan the job."""
        job_graph = submittable(stream_graph, configuration.to_dict())
        place = _place(sys._getframe(), self._directory)
        operators = len(stream_graph.nodes)
        self._append({"job": job_graph.name, "operators": operators, "path": place[0], "line": place[1]})
        return _ended()

    def execute_async(self, stream_graph: StreamGraph, configuration: Configuration) -> JobClient:
        """Plan the job."""
        self.execute(stream_graph, configuration)
        return _EndedJob()

    def collect(
        self, stream_graph: StreamGraph, configuration: Configuration, collect_id: str, limit: int | None
    ) -> CloseableIterator[object]:
        """Plan the job, which has no results."""
        self.execute(stream_graph, configuration)
        return _nothing()

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
                if not _is_ours(error):
                    raise
                self._failed(_place(sys._getframe(1), self._directory), error)
                self._lost.update(created[1].strip("`") for text in args if (created := _CREATE.match(str(text))))
                return result(called)

        return call

    def _failed(self, place: tuple[str, int], error: BaseException) -> None:
        """Record an error of ours, unless it follows from that of a statement which was to create something."""
        text = _text(error)
        lost = next((name for name in self._lost if re.search(rf"\b{re.escape(name)}\b", text)), None)
        if lost is None:
            self.find(Kind.FAILS, place, _name(error), text)
        else:
            self.find(Kind.UNCHECKED, place, lost, "the statement needs it, and it could not be created")

    def stopped(self, error: BaseException) -> None:
        """Record what ended the program before its end."""
        place = _place_of(error.__traceback__, self._directory)
        if isinstance(error, _TimeIsUpError):
            self.find(Kind.UNCHECKED, place, "what follows", str(error))
        elif isinstance(error, SystemExit):
            if error.code not in (None, 0):
                hint = "; does it need arguments?" if error.code == 2 else ""
                self.find(Kind.UNCHECKED, place, "what follows", f"the program ended with exit code {error.code}{hint}")
        elif _is_ours(error):
            self._failed(place, error)
        else:
            self.find(Kind.UNCHECKED, place, "what follows", f"the program stopped: {_name(error)}: {_text(error)}")


def _is_ours(error: BaseException) -> bool:
    """Return whether firesteel refuses what the program does, rather than that it lacks data or another system."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    if any(isinstance(cause, NoNetworkError | ModuleNotFoundError) for cause in causes):
        return isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("pyflink")
    if isinstance(error, FiresteelError | NotImplementedError):
        return not isinstance(error, OSError)
    if isinstance(error, TypeError) and (called := _CALL.match(str(error))) and _is_our_name(called[1]):
        return True
    if isinstance(error, ImportError):
        return (error.name or "").startswith(("pyflink", "firesteel"))
    if isinstance(error, AttributeError):
        owner = error.obj if isinstance(error.obj, type) else type(error.obj)
        return owner.__module__.startswith("firesteel.") or getattr(error.obj, "__name__", "").startswith("firesteel")
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, TypeError | ValueError) and frames[-1].filename.startswith(OUR_CODE)


def _is_our_name(name: str) -> bool:
    modules = [module for path, module in sys.modules.items() if path.startswith("firesteel.")]
    found = [getattr(module, name, None) for module in modules]
    return any(str(getattr(value, "__module__", "")).startswith("firesteel.") for value in found)


def _name(error: BaseException) -> str:
    return type(error).__name__


def _text(error: BaseException) -> str:
    text = str(error)
    for end in ("\n\nTable options are", "\n\nAvailable factory identifiers"):
        text = text.partition(end)[0]
    return " ".join(text.split()) or "without a message"


def _place(frame: FrameType | None, directory: str) -> tuple[str, int]:
    """Return the file and line of the innermost frame of the program."""
    while frame is not None:
        if _is_of_program(frame.f_code.co_filename, directory):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _place_of(trace: TracebackType | None, directory: str) -> tuple[str, int]:
    found = [frame for frame in traceback.extract_tb(trace) if _is_of_program(frame.filename, directory)]
    return (found[-1].filename, found[-1].lineno or 0) if found else ("", 0)


def _is_of_program(file: str, directory: str) -> bool:
    return file.startswith(directory) and not file.startswith(OUR_CODE) and "site-packages" not in file


class _Notes(logging.Handler):
    """Turns firesteel's warnings into findings."""

    def __init__(self, trial: _Trial, directory: str) -> None:
        super().__init__(logging.WARNING)
        self._trial, self._directory = trial, directory

    def emit(self, record: logging.LogRecord) -> None:
        name, _, advice = record.getMessage().partition(": ")
        place = _place(sys._getframe(), self._directory)
        self._trial.find(Kind.DIFFERS, place, name if advice else record.levelname.lower(), advice or name)


def main(order: Path) -> None:
    """Try a program.

    Args:
        order: A file with a JSON object: `program`, `arguments`, `seconds`, `found`, and the `doubtful` lines of which
            the trial says whether they were executed: file, line, and whether it is meant in a lambda.
    """
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
