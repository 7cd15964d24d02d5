"""A session of the SQL client: executes statements and prints their results (Flink: `CliClient`, `Executor`)."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from firesteel.cli.sql_results import show_query, write_result
from firesteel.client import EmbeddedJobClient, set_progress_reporter
from firesteel.client.progress_view import make_reporter
from firesteel.common.configuration import set_default_options
from firesteel.common.options.known_options import FREE_PREFIXES, doubt_about, known_options
from firesteel.common.options.table_options import SQL_CLIENT_MAX_ROWS, SQL_CLIENT_RESULT_MODE, TABLE_COLUMN_WIDTH
from firesteel.common.terminal_text import printable
from firesteel.errors import FiresteelError, InvalidProgramError
from firesteel.gateway.session_context import SessionContext
from firesteel.table import StreamTableEnvironment
from firesteel.table.planner.parse.parser import parse
from firesteel.table.result_kind import ResultKind
from firesteel.table.syntax import statements as s
from firesteel.table.table_result import TableResult

_HELP = """The following commands are available:

HELP              Print the available commands.
QUIT, EXIT, \\q    Quit the SQL client.
CLEAR             Clear the terminal.
SET               List the options, or set one: SET 'key' = 'value'.
RESET             Reset all options, or one: RESET 'key'.
TIMING, \\timing   Show how long each statement takes, or stop to.
SHOW JOBS         List the jobs.
STOP JOB          Cancel a job, or stop it: STOP JOB 'id' WITH SAVEPOINT.
Any other statement is SQL. A statement ends with a semicolon and may have several lines."""


class SqlSession:
    """Executes statements, and keeps the options and the jobs of a session.

    Args:
        options: Initial options.
        verbose: Whether errors are printed with their traceback.
        output: Format of results: `text`, `csv` or `json`.

    Attributes:
        is_over: Whether the user has left the client.
        has_screen: Whether there is a prompt on a terminal, on which results can be shown live.
    """

    def __init__(self, options: dict[str, str], verbose: bool = False, output: str = "text") -> None:
        self.is_over = False
        self.has_screen = False
        self._verbose = verbose
        self._output = output
        self._shows_times = False
        self._context = SessionContext(options)
        set_default_options(self._context.table_options)
        set_progress_reporter(make_reporter("text"))

    # --- statements --------------------------------------------------------------------------------------------------

    def execute(self, text: str, where: str = "") -> bool:
        """Execute a statement or command and print its result, or the reason of its failure.

        Args:
            text: The statement without semicolon.
            where: Location of the statement for messages, such as ` of job.sql, line 3`.

        Returns:
            Whether it succeeded.
        """
        begun_s = time.monotonic()
        try:
            command = command_of(text)
            if command is not None:
                command(self)
            else:
                self._run(parse(text))
                if self._shows_times:
                    self.tell(f"Time: {(time.monotonic() - begun_s) * 1000:,.0f} ms")
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt):
                if where:
                    raise
                self.tell("Query terminated.")
                return True
            self._report(error, where)
            return False
        return True

    @property
    def table_env(self) -> StreamTableEnvironment:
        """Return the table environment of the session."""
        return self._context.table_env

    def _run(self, statement: s.Statement) -> None:
        if isinstance(statement, s.Query):
            self._check_result_mode()
        result = self._context.execute(statement)
        if isinstance(statement, s.Query):
            self._show(result)
        elif result.get_job_client() is not None:
            self._follow(result)
        elif result.get_result_kind() == ResultKind.SUCCESS:
            if isinstance(statement, s.SetOption) and statement.key is not None and not statement.reset:
                self._warn_of_unknown(statement.key)
            self.tell("[INFO] Execute statement succeeded.")
        elif self._output == "text":
            result.print()
        else:
            write_result(result, self._output, has_kinds=False)

    def _check_result_mode(self) -> None:
        mode = self._context.get(SQL_CLIENT_RESULT_MODE)
        if mode != "tableau" and self._output == "text" and not self.has_screen:
            raise InvalidProgramError(
                f"{SQL_CLIENT_RESULT_MODE.key} is {mode!r}, which needs a prompt on a terminal; elsewhere results are "
                "shown in mode 'tableau', and for programs with --output csv or json"
            )

    def _show(self, result: TableResult) -> None:
        mode = self._context.get(SQL_CLIENT_RESULT_MODE)
        if self._output != "text":
            write_result(result, self._output, has_kinds=self._context.is_streaming)
        elif mode == "tableau":
            show_query(result, self._context.is_streaming, self._context.get(TABLE_COLUMN_WIDTH))
        else:
            from firesteel.cli.result_screen import show_screen  # late import: Windows has no such terminals

            show_screen(result, None if mode == "changelog" else self._context.get(SQL_CLIENT_MAX_ROWS))

    def tell(self, text: str) -> None:
        """Print a message, which must not get among rows that a program reads."""
        print(text, file=sys.stdout if self._output == "text" else sys.stderr, flush=True)

    def _warn_of_unknown(self, key: str) -> None:
        if key not in known_options() and not key.startswith(FREE_PREFIXES) and doubt_about(key) is None:
            self.tell(f"[WARNING] there is no option {key!r}: it has no effect unless the job's functions read it")

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
        self.tell("[INFO] SQL update statement has been successfully submitted to the cluster:")
        self.tell(f"Job ID: {client.get_job_id()}\n")
        if self._context.waits_for_inserts:
            client.wait()
            self.tell("[INFO] Complete execution of the SQL update statement.")

    def wait_for_jobs(self) -> bool:
        """Wait for the jobs that run inside this process, and return whether all succeeded."""
        succeeded = True
        for job in self._context.jobs:
            if isinstance(job.client, EmbeddedJobClient) and not job.is_query:
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
            for job in self._context.jobs
        )

    # --- commands ----------------------------------------------------------------------------------------------------

    def _quit(self) -> None:
        self.is_over = True
        self.tell("[INFO] Exiting firesteel SQL client...")

    def _clear(self) -> None:
        if sys.stdout.isatty():
            print("\033[H\033[2J", end="", flush=True)

    def _help(self) -> None:
        self.tell(_HELP)

    def _timing(self) -> None:
        self._shows_times = not self._shows_times
        self.tell(f"[INFO] Timing is {'on' if self._shows_times else 'off'}.")

    commands: ClassVar[dict[str, Callable[[SqlSession], None]]] = {
        "QUIT": _quit,
        "EXIT": _quit,
        "\\Q": _quit,
        "CLEAR": _clear,
        "HELP": _help,
        "TIMING": _timing,
        "\\TIMING": _timing,
    }


def command_of(text: str) -> Callable[[SqlSession], None] | None:
    """Return the command of the client that a text is, or None if it is SQL.

    No statement of SQL begins with a backslash: such a word is always a command, if an unknown one.
    """
    word = text.strip()
    if word.startswith("\\"):
        return SqlSession.commands.get(word.upper(), partial(_unknown, word))
    return SqlSession.commands.get(word.upper())


def _unknown(word: str, session: SqlSession) -> None:
    raise InvalidProgramError(f"there is no command {word}; HELP lists the commands")
