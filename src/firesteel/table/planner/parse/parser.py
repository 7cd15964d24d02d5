"""The SQL parser: text to statements, queries and expressions.

It is written by hand, as most of the grammar is Flink's own; see `docs/decisions/0027-own-sql-parser.md`.
"""

from __future__ import annotations

from firesteel.table.planner.nesting import refused_if_too_deep
from firesteel.table.planner.parse.parse_statements import StatementParser
from firesteel.table.syntax.statements import Statement
from firesteel.table.syntax.unresolved import Unresolved


def parse(sql: str) -> Statement:
    """Return the statement that a text is (a class of `firesteel.table.syntax.statements`).

    Raises:
        SqlParserError: it is none; the message has line and column.
        ValueError: it is more than one.
    """
    found = parse_all(sql)
    if len(found) != 1:
        raise ValueError("only single statement supported")
    return found[0]


def parse_all(sql: str) -> list[Statement]:
    """Return the statements of a text, which semicolons separate.

    Raises:
        SqlParserError: one of them is none.
    """
    parser = StatementParser(sql)
    found: list[Statement] = []
    while True:
        while parser.accept(";"):
            pass
        if parser.token.kind == "end":
            if not found:
                parser.fail()
            return found
        with refused_if_too_deep():
            found.append(parser.statement())
        if parser.token.kind != "end" and not parser.at(";"):
            parser.fail("<EOF>", ";")


def parse_expression(text: str) -> Unresolved:
    """Return the unresolved expression that a text is.

    Raises:
        SqlParserError: it is none.
    """
    parser = StatementParser(text)
    with refused_if_too_deep():
        expression = parser.expression()
    if parser.token.kind != "end":
        parser.fail("<EOF>")
    return expression
