"""The magic `%%sql`: statements in a cell, with results that change while a query runs."""

from __future__ import annotations

import argparse
import math
import shlex
import time

from IPython.display import display

from firesteel.common.checks import with_article
from firesteel.common.notebook_table import NotebookTable
from firesteel.common.options.execution_options import RUNTIME_MODE
from firesteel.common.table_errors import ValidationException
from firesteel.common.terminal_text import counted
from firesteel.common.types import Row
from firesteel.notebook.shell import Display, Shell, is_terminal
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.environment.materialized_rows import materialized
from firesteel.table.planner.parse.parser import parse
from firesteel.table.planner.parse.script import split_statements
from firesteel.table.result_kind import ResultKind
from firesteel.table.syntax import statements as s
from firesteel.table.table_parts import row_type_of
from firesteel.table.table_result import TableResult

__all__ = ["SqlMagic"]

_REFRESH_S = 0.5

_PARSER = argparse.ArgumentParser(prog="%%sql", exit_on_error=False, add_help=False)
_PARSER.add_argument("-e", "--environment", default="t_env")
_PARSER.add_argument("-o", "--output")
_PARSER.add_argument("-n", "--rows", type=int, default=20)
_PARSER.add_argument("--changelog", action="store_true")
_PARSER.add_argument("--batch", action="store_true")


class SqlMagic:
    """The cell magic `%%sql`.

    Args:
        shell: The notebook's `InteractiveShell`, whose variables it uses.
    """

    def __init__(self, shell: Shell) -> None:
        self._variables = shell.user_ns
        self._is_terminal = is_terminal(shell)

    def __call__(self, line: str, cell: str) -> None:
        """Execute SQL statements; the rows of a query change while it runs. Interrupt the kernel to stop it.

        Options: -e VARIABLE (the table environment, made if it is missing; t_env), -o VARIABLE (gets the rows of the
        last query as a DataFrame), -n ROWS (how many are shown; 20), --changelog (each change rather than the rows that
        are left), --batch (makes the environment for batch mode).
        """
        options = _options(line)
        environment = self._environment(options.environment, options.batch)
        for statement in split_statements(cell):
            self._execute(environment, statement.text, options)

    def _environment(self, name: str, is_batch: bool) -> TableEnvironment:
        found = self._variables.get(name)
        if found is None:
            make = EnvironmentSettings.in_batch_mode if is_batch else EnvironmentSettings.in_streaming_mode
            found = self._variables[name] = TableEnvironment.create(make())
        if not isinstance(found, TableEnvironment):
            raise ValidationException(f"{name} is {with_article(type(found))}, expected a TableEnvironment")
        if is_batch and RUNTIME_MODE.of(found.get_config().get_configuration().to_dict()) != "BATCH":
            raise ValidationException(f"{name} is in streaming mode; name another variable: %%sql --batch -e NAME")
        return found

    def _execute(self, environment: TableEnvironment, text: str, options: argparse.Namespace) -> None:
        statement = parse(text)
        if isinstance(statement, s.SetOption) and statement.key is not None and statement.value is not None:
            environment.get_config().set(statement.key, statement.value)
            return
        result = environment.execute_sql(text)
        if isinstance(statement, s.Query):
            rows = _live(result, options.rows, options.changelog, self._is_terminal)
            if options.output is not None:
                self._variables[options.output] = _frame(rows, row_type_of(result).field_names())
        elif result.get_job_client() is not None:
            result.wait()
        elif result.get_result_kind() == ResultKind.SUCCESS_WITH_CONTENT:
            display(result)


def _options(line: str) -> argparse.Namespace:
    """Return the options of the magic.

    Raises:
        ValidationException: one is unknown, or has no such value.
    """
    try:
        options, unknown = _PARSER.parse_known_args(shlex.split(line))
    except (argparse.ArgumentError, ValueError) as error:
        raise ValidationException(f"%%sql {line}: {error}") from None
    if unknown:
        raise ValidationException(f"%%sql has no option {unknown[0]}; its help is: %%sql?")
    if options.rows < 1:
        raise ValidationException(f"%%sql -n {options.rows}: expected at least 1 row")
    return options


def _live(result: TableResult, shown: int, is_changelog: bool, is_terminal: bool) -> list[Row]:
    """Show the rows of a query as they arrive, and return those that are left; an interrupt stops the query.

    IPython in a terminal cannot change what it has shown, so there the rows are shown once, at the end.
    """
    changes: list[Row] = []
    view = _View(result, shown, is_changelog, is_terminal)
    state = "stopped"
    try:
        with result.collect() as rows:
            for row in rows:
                changes.append(row)
                view.refresh(changes)
        state = "ended"
    except KeyboardInterrupt:
        pass
    finally:
        view.show(changes, state)
    return materialized(changes)


class _View:
    """The table below the cell."""

    def __init__(self, result: TableResult, shown: int, is_changelog: bool, is_shown_once: bool) -> None:
        self._names = row_type_of(result).field_names()
        self._shown, self._is_changelog = shown, is_changelog
        self._due_s = math.inf if is_shown_once else 0.0
        self._display: Display | None = None
        if not is_shown_once:
            self._display = display(NotebookTable(self._names, [], "waiting for rows"), display_id=True)

    def refresh(self, changes: list[Row]) -> None:
        """Show the table anew, unless it was shown a moment ago."""
        if time.monotonic() < self._due_s:
            return
        begun_s = time.monotonic()
        self.show(changes, "running; interrupt the kernel to stop")
        # A long changelog takes long to fold: it must not take most of the time.
        self._due_s = time.monotonic() + max(_REFRESH_S, 5 * (time.monotonic() - begun_s))

    def show(self, changes: list[Row], state: str) -> None:
        """Show the last rows."""
        if self._is_changelog:
            names = ["op", *self._names]
            rows = [(str(row.get_row_kind()), *row) for row in changes[-self._shown :]]
            count = len(changes)
        else:
            left = materialized(changes)
            names, rows, count = self._names, [tuple(row) for row in left[-self._shown :]], len(left)
        what = counted(count, "change" if self._is_changelog else "row")
        last = f", the last {len(rows)} shown" if len(rows) < count else ""
        table = NotebookTable(names, rows, f"{what}{last}; {state}")
        if self._display is None:
            display(table)
        else:
            self._display.update(table)


def _frame(rows: list[Row], names: list[str]) -> object:
    import pandas  # late import: only -o needs it

    return pandas.DataFrame([tuple(row) for row in rows], columns=names)
