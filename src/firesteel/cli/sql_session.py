"""A session of the SQL client: executes statements and prints their results (Flink: `CliClient`, `Executor`)."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

from firesteel.cli.progress_view import make_reporter
from firesteel.cli.sql_results import show_query
from firesteel.cli.terminal_text import printable
from firesteel.client import EmbeddedJobClient, set_progress_reporter
from firesteel.client.rest_client import DEFAULT_ADDRESS
from firesteel.common.configuration import Configuration, set_default_options
from firesteel.common.types import Row
from firesteel.errors import FiresteelError
from firesteel.table import EnvironmentSettings, StreamTableEnvironment
from firesteel.table import statements as s
from firesteel.table.planner.parser import parse
from firesteel.table.print_style import PrintStyle, print_rows
from firesteel.table.result_kind import ResultKind
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataTypes, RowType

MODE = "execution.runtime-mode"
RESULT_MODE = "sql-client.execution.result-mode"
SYNC = "table.dml-sync"
_CHOICES = {MODE: ("streaming", "batch"), RESULT_MODE: ("tableau", "table", "changelog"), SYNC: ("true", "false")}
_OWN = (RESULT_MODE, SYNC)
"""Options of the session itself, which are not passed to the table environment."""
_HELP = """The following commands are available:

HELP              Print the available commands.
QUIT, EXIT        Quit the SQL client.
CLEAR             Clear the terminal.
SET               List the options, or set one: SET 'key' = 'value'.
RESET             Reset all options, or one: RESET 'key'.
SHOW JOBS         List the jobs.
Any other statement is SQL. A statement ends with a semicolon and may have several lines."""


class _Job(NamedTuple):
    client: Any
    name: str
    started_ms: int


class SqlSession:
    """Executes statements, and keeps the options and the jobs of a session.

    Args:
        options: Initial options.
        verbose: Whether errors are printed with their traceback.
    """

    def __init__(self, options: dict[str, str], verbose: bool = False) -> None:
        self.is_over = False
        self._verbose = verbose
        self._initial = {MODE: "STREAMING", **options}
        for key, value in self._initial.items():
            _check(key, value)
        self._own = {key: value for key, value in options.items() if key in _OWN}
        others = {key: value for key, value in self._initial.items() if key not in _OWN}
        set_default_options(others)
        set_progress_reporter(make_reporter("text"))
        settings = EnvironmentSettings.new_instance().with_configuration(Configuration.from_dict(others)).build()
        self.table_env = StreamTableEnvironment.create(environment_settings=settings)
        self._configuration = self.table_env.get_config().get_configuration()
        self._jobs: list[_Job] = []

    # --- statements --------------------------------------------------------------------------------------------------

    def execute(self, text: str, where: str = "") -> bool:
        """Execute a statement or command and print its result, or the reason of its failure.

        Args:
            text: The statement without semicolon.
            where: Location of the statement for messages, such as ` of job.sql, line 3`.

        Returns:
            Whether it succeeded.
        """
        try:
            command = _COMMANDS.get(text.strip().upper())
            if command is not None:
                command(self)
            else:
                self._run(parse(text))
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt):
                if where:
                    raise
                print("Query terminated.")
                return True
            self._report(error, where)
            return False
        return True

    def _run(self, statement: Any) -> None:
        if isinstance(statement, s.SetOption):
            self._set_option(statement)
        elif isinstance(statement, s.Show) and statement.what == "JOBS":
            self._show_jobs()
        else:
            result = self.table_env._executor.execute(statement)
            if isinstance(statement, s.Query):
                show_query(result, self._own.get(RESULT_MODE, "tableau"), self._is_streaming)
            elif result.get_job_client() is not None:
                self._follow(result)
            elif result.get_result_kind() == ResultKind.SUCCESS:
                _succeeded()
            else:
                result.print()

    @property
    def _is_streaming(self) -> bool:
        return self._configuration.get_string(MODE, "STREAMING").upper() != "BATCH"

    def _report(self, error: Exception, where: str) -> None:
        sys.stdout.flush()
        print(printable(f"[ERROR] Could not execute SQL statement{where}. Reason:"), file=sys.stderr)
        name = "" if isinstance(error, FiresteelError) else f"{type(error).__name__}: "
        print(printable(f"{name}{error}"), file=sys.stderr)
        if self._verbose:
            print(printable("".join(traceback.format_exception(error))), file=sys.stderr)

    # --- jobs --------------------------------------------------------------------------------------------------------

    def _follow(self, result: TableResult) -> None:
        """Report the job of an INSERT, and wait for it if `table.dml-sync` is set."""
        client: Any = result.get_job_client()
        name = self._configuration.get_string("pipeline.name", "") or "insert-into_" + ",".join(result._row_type.names)
        self._jobs.append(_Job(client, name, int(time.time() * 1000)))
        print("[INFO] SQL update statement has been successfully submitted to the cluster:")
        print(f"Job ID: {client.get_job_id()}\n", flush=True)
        if self._own.get(SYNC, "false").lower() == "true":
            client.wait()
            print("[INFO] Complete execution of the SQL update statement.", flush=True)

    def wait_for_jobs(self) -> bool:
        """Wait for the jobs that run inside this process, and return whether all succeeded."""
        succeeded = True
        for job in self._jobs:
            if isinstance(job.client, EmbeddedJobClient):
                try:
                    job.client.wait()
                except FiresteelError as error:
                    print(printable(f"[ERROR] Job {job.client.get_job_id()} failed. Reason:\n{error}"), file=sys.stderr)
                    succeeded = False
        return succeeded

    def has_running_jobs(self) -> bool:
        """Return whether a job inside this process is still running."""
        return any(
            isinstance(job.client, EmbeddedJobClient) and not job.client.get_job_execution_result().done()
            for job in self._jobs
        )

    def _show_jobs(self) -> None:
        rows = [
            Row(
                str(job.client.get_job_id()), job.name, job.client.get_job_status().result().name, _time(job.started_ms)
            )
            for job in self._jobs
        ]
        if self._configuration.get_string("execution.target", "local") == "remote":
            from firesteel.cli.cluster import cluster_client

            jobs = cluster_client(self._configuration.get_string("rest.address", DEFAULT_ADDRESS)).list_jobs()
            rows = [Row(job["jid"], job["name"], job["state"], _time(job["start-time"])) for job in jobs]
        _print_texts(["job id", "job name", "status", "start time"], rows)

    # --- options -----------------------------------------------------------------------------------------------------

    def _set_option(self, statement: s.SetOption) -> None:
        if statement.reset:
            keys = [statement.key] if statement.key is not None else [*self._configuration.key_set(), *self._own]
            for key in keys:
                self._set(key, self._initial.get(key))
            _succeeded()
        elif statement.key is None or statement.value is None:
            options = self._configuration.to_dict() | self._own
            shown = [key for key in sorted(options) if statement.key in (None, key)]
            _print_texts(["key", "value"], [Row(key, options[key]) for key in shown])
        else:
            self._set(statement.key, statement.value)
            _succeeded()

    def _set(self, key: str, value: str | None) -> None:
        """Set an option; None removes it."""
        if value is not None:
            _check(key, value)
        if key in _OWN:
            self._own = {k: v for k, v in {**self._own, key: value}.items() if v is not None}
        elif value is None:
            self._configuration.remove_config(key)
        else:
            self._configuration.set_string(key, value.upper() if key == MODE else value)
        if key == MODE:
            self.table_env._set_streaming((value or "STREAMING").upper() == "STREAMING")

    # --- commands ----------------------------------------------------------------------------------------------------

    def _quit(self) -> None:
        self.is_over = True
        print("[INFO] Exiting firesteel SQL client...")

    def _clear(self) -> None:
        if sys.stdout.isatty():
            print("\033[H\033[2J", end="", flush=True)

    def _help(self) -> None:
        print(_HELP)


_COMMANDS: dict[str, Callable[[SqlSession], None]] = {
    "QUIT": SqlSession._quit,
    "EXIT": SqlSession._quit,
    "CLEAR": SqlSession._clear,
    "HELP": SqlSession._help,
}


def _check(key: str, value: str) -> None:
    choices = _CHOICES.get(key)
    if choices is not None and value.lower() not in choices:
        raise ValueError(f"option '{key}' is '{value}'; allowed: {', '.join(choices)}")


def _succeeded() -> None:
    print("[INFO] Execute statement succeeded.", flush=True)


def _time(milliseconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(milliseconds / 1000))


def _print_texts(names: list[str], rows: list[Row]) -> None:
    row_type = RowType([DataTypes.FIELD(name, DataTypes.STRING()) for name in names])
    print_rows(rows, row_type, PrintStyle.WIDE, sys.stdout)
