"""The prompt of the SQL client, with history, completion and multi-line statements."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from firesteel.cli.sql_session import SqlSession, command_of
from firesteel.gateway.completion import completions
from firesteel.table.planner.parse.script import in_one_line, split_statements

_PROMPT = "firesteel SQL> "
_MORE = "> "
_HISTORY_LINES = 500
_INSIDE = "[INFO] {} is taken for a part of the statement before it; end that with a semicolon, or drop it with Ctrl-C."


def run_prompt(session: SqlSession) -> None:
    """Read and execute statements until QUIT or the end of input.

    Jobs that run inside this process are cancelled at the end.
    """
    session.has_screen = sys.stdin.isatty() and sys.stdout.isatty()
    history = _prepare_terminal(session) if sys.stdin.isatty() else None
    buffer = ""
    while not session.is_over:
        try:
            # Without a terminal they would be among the rows that a program reads.
            line = input((_MORE if buffer else _PROMPT) if session.has_screen else "")
        except KeyboardInterrupt:
            buffer = ""
            print(file=sys.stderr)
            continue
        except EOFError:
            if sys.stdin.isatty():
                print(file=sys.stderr)
            elif buffer:  # The last statement of a file needs no semicolon.
                session.execute(buffer)
            break
        if command_of(line) is not None:
            if not buffer:  # These need no semicolon.
                line += ";"
            else:  # It may be the name of a column in a line of its own.
                print(_INSIDE.format(line.strip()), file=sys.stderr)
        buffer = _execute_complete(session, f"{buffer}{line}\n", history is not None)
    if history is not None:
        _save(history)
    if session.has_running_jobs():
        session.tell("[INFO] Cancelling the jobs that are still running inside this process.")


def _execute_complete(session: SqlSession, buffer: str, has_history: bool) -> str:
    """Execute the statements that end with a semicolon, and return the remaining text."""
    rest = ""
    for statement in split_statements(buffer):
        if not statement.is_complete:
            rest = statement.text + "\n"
        elif not session.is_over:
            if has_history:
                _remember(statement.text)
            session.execute(statement.text)
    return rest


def _remember(statement: str) -> None:
    """Add a whole statement to the history, in one line, as its file has entries of one line."""
    import readline

    readline.add_history(f"{in_one_line(statement)};")


def _prepare_terminal(session: SqlSession) -> Path | None:
    """Enable completion and history; return the file of the history, or None without readline."""
    try:
        import readline
    except ImportError:
        return None
    completer = Completer(session)
    readline.set_completer(completer.complete)
    readline.set_completer_delims(" \t\n(),;=<>'`")
    readline.parse_and_bind("tab: complete")
    history = history_file()
    with suppress(OSError):
        readline.read_history_file(history)
    readline.set_history_length(_HISTORY_LINES)
    readline.set_auto_history(False)  # whole statements are remembered, not their lines
    return history


def _save(history: Path) -> None:
    import readline

    with suppress(OSError):
        history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        readline.write_history_file(history)


def history_file() -> Path:
    """Return the file with the statements of earlier sessions."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "firesteel" / "sql_history"


class Completer:
    """Completes keywords and names of tables and columns.

    Args:
        session: The session, which provides the names.
    """

    def __init__(self, session: SqlSession) -> None:
        self._session = session
        self._found: list[str] = []

    def complete(self, text: str, state: int) -> str | None:
        """Return the completion with index `state` of a word, or None after the last one."""
        if state == 0:
            self._found = completions(self._session.table_env, text)
        return self._found[state] if state < len(self._found) else None
