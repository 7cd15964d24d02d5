"""Statements about models and procedures, and the refusal of materialized tables."""

from __future__ import annotations

from typing import NoReturn

from firesteel.common.table_errors import SqlParserError, ValidationException
from firesteel.table.planner.parse.parse_alter import AlterParser
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.unresolved import Unresolved, where


class ModelParser(AlterParser):
    """A parser of CREATE, ALTER and DROP MODEL, and of CALL."""

    def alter(self) -> s.Statement:
        """Take an ALTER statement."""
        if self.at("ALTER", "MODEL"):
            self.expect("ALTER", "MODEL")
            return self._alter_model()
        if self.at("ALTER", "MATERIALIZED"):
            self.next()
            self.refuse_materialized_table()
        return super().alter()

    def create_model(self, is_temporary: bool) -> s.CreateModel:
        """Take what follows CREATE MODEL.

        Raises:
            ValidationException: the statement lacks columns or options.
        """
        position = self.position()
        exists, path = self.accept("IF", "NOT", "EXISTS"), self.path()
        inputs, outputs = self._model_columns("INPUT"), self._model_columns("OUTPUT")
        comment = self.string() if self.accept("COMMENT") else None
        options = self.options() if self.accept("WITH") else ()
        if self.at("AS"):
            at = self.position()
            raise SqlParserError(
                f"SQL parse failed. CREATE MODEL AS SELECT is not supported, at line {at.line}, column {at.column}."
            )
        if self.token.kind != "end" and not self.at(";"):
            self.fail("INPUT", "OUTPUT", "COMMENT", "WITH", "<EOF>")
        problem = _problem_of(inputs, outputs, options)
        if problem:
            raise ValidationException(f"SQL validation failed. {where(position, '.'.join(path))}{problem}")
        return s.CreateModel(path, inputs, outputs, options, comment, is_temporary, exists)

    def _model_columns(self, word: str) -> tuple[s.ColumnDefinition, ...]:
        if not self.accept(word):
            return ()
        return tuple(column for column in self.in_parentheses(self._model_column) if column is not None)

    def _model_column(self) -> s.ColumnDefinition | None:
        if self.at("WATERMARK", "FOR"):
            self.watermark()  # Flink accepts and ignores it, and keys too
            return None
        if self.at_any("PRIMARY", "CONSTRAINT"):
            self.primary_key()
            return None
        position, (column, _) = self.position(), self.column()
        if column.expression is not None or column.is_metadata:
            place = where(position, column.name)
            raise ValidationException(
                f"SQL validation failed. {place}Column `{column.name}` can only be a physical column."
            )
        return column

    def drop_model(self, is_temporary: bool) -> s.DropModel:
        """Take what follows DROP MODEL."""
        exists = self.accept("IF", "EXISTS")
        return s.DropModel(self.path(), is_temporary, exists)

    def _alter_model(self) -> s.AlterModel:
        exists, path = self.accept("IF", "EXISTS"), self.path()
        if self.accept("RENAME", "TO"):
            return s.AlterModel(path, "RENAME", self.path(), exists)
        if self.accept("SET"):
            return s.AlterModel(path, "SET", self.options(), exists)
        if not self.accept("RESET"):
            self.fail("RENAME", "SET", "RESET")
        keys = () if self.accept("(", ")") else self.in_parentheses(self.string)
        return s.AlterModel(path, "RESET", keys, exists)

    def call(self) -> s.Call:
        """Take CALL."""
        self.expect("CALL")
        position, path = self.position(), self.path()
        arguments = () if self.accept("(", ")") else self.in_parentheses(self._call_argument)
        return s.Call(path, arguments, position)

    def _call_argument(self) -> Unresolved:
        if self.ahead().text == "=>":
            self.name()
            self.expect("=>")
        return self.expression()

    def refuse_materialized_table(self) -> NoReturn:
        """Raise the error for a statement about materialized tables.

        Raises:
            SqlParserError: always.
        """
        self.refuse("Materialized tables are not supported", "Create a table and write it with INSERT INTO")

    def refuse(self, what: str, instead: str) -> NoReturn:
        """Raise the error for a statement that Flink has.

        Raises:
            SqlParserError: always.
        """
        at = self.position()
        raise SqlParserError(f"SQL parse failed. {what}, at line {at.line}, column {at.column}. {instead}.")


def _problem_of(
    inputs: tuple[s.ColumnDefinition, ...], outputs: tuple[s.ColumnDefinition, ...], options: s.Options
) -> str:
    """Return what is wrong with the parts of CREATE MODEL, empty if nothing is."""
    if inputs and not outputs:
        return "Output column list can not be empty with non-empty input column list."
    if outputs and not inputs:
        return "Input column list can not be empty with non-empty output column list."
    if not options:
        return "Model property list can not be empty."
    for kind, columns in (("input", inputs), ("output", outputs)):
        names = [column.name for column in columns]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            return f"Duplicate {kind} column name: '{twice[0]}'."
    return ""
