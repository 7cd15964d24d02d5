"""Completion of SQL: keywords and names of tables and columns (Flink: `SqlCompleter`, `Session.completeStatement`)."""

from __future__ import annotations

import re
from contextlib import suppress

from firesteel.errors import FiresteelError
from firesteel.table import StreamTableEnvironment
from firesteel.table.planner.parse.parse_statements import SHOWN, StatementParser
from firesteel.table.planner.parse.reserved_words import RESERVED

_WORD = re.compile(r"[\w$.]*$")


def completions(table_env: StreamTableEnvironment, word: str) -> list[str]:
    """Return all completions of a word: names of tables and columns, then keywords, each in alphabetical order."""
    names = {name for name in _names(table_env) if name.startswith(word)}
    keywords = {part for phrase in SHOWN for part in phrase.split()} | RESERVED | StatementParser.statements.keys()
    matching = {part for part in keywords if word and part.startswith(word.upper())}
    return sorted(names) + sorted(matching)


def word_before(statement: str, position: int) -> str:
    """Return the beginning of the word that ends at a position of a statement.

    Example:
        >>> word_before("SELECT cou FROM t", 10)
        'cou'
    """
    found = _WORD.search(statement[:position])
    return found.group() if found is not None else ""


def _names(table_env: StreamTableEnvironment) -> set[str]:
    names: set[str] = set()
    for table in table_env.list_tables():
        names.add(table)
        with suppress(FiresteelError):
            names.update(table_env.from_path(f"`{table}`").get_schema().get_field_names())
    return names
