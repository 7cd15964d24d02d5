"""Columns, watermarks and keys of tables, and the ALTER statements that change them."""

from __future__ import annotations

from firesteel.common.table_errors import ValidationException
from firesteel.table.expression_functions.expression_text import expression_sql
from firesteel.table.planner.parse.parse_queries import QueryParser
from firesteel.table.syntax import statements as s


class AlterParser(QueryParser):
    """A parser of ALTER statements and of clauses shared with CREATE TABLE."""

    def column(self) -> tuple[s.ColumnDefinition, bool]:
        """Parse a column, and return it with whether PRIMARY KEY follows."""
        name = self.name()
        if self.accept("AS"):
            expression = self.expression()
            text = expression_sql(expression)
            return s.ColumnDefinition(name, None, expression, text, comment=self._column_comment()), False
        kind = self.type()
        if self.accept("METADATA"):
            key = self.string() if self.accept("FROM") else None
            virtual = self.accept("VIRTUAL")
            return (
                s.ColumnDefinition(
                    name, kind, is_metadata=True, metadata_key=key, is_virtual=virtual, comment=self._column_comment()
                ),
                False,
            )
        self._no_unique("UNIQUE")
        is_key = self.accept("PRIMARY", "KEY")
        if is_key:
            self._not_enforced()
        return s.ColumnDefinition(name, kind, comment=self._column_comment()), is_key

    def _column_comment(self) -> str | None:
        return self.string() if self.accept("COMMENT") else None

    def watermark(self) -> s.WatermarkDefinition:
        """Take `WATERMARK FOR column AS expression`."""
        self.expect("WATERMARK", "FOR")
        column = ".".join(self.path())
        self.expect("AS")
        expression = self.expression()
        return s.WatermarkDefinition(column, expression, expression_sql(expression))

    def primary_key(self) -> tuple[str | None, tuple[str, ...]]:
        """Take `[CONSTRAINT name] PRIMARY KEY (columns) NOT ENFORCED`."""
        name = self.name() if self.accept("CONSTRAINT") else None
        self._no_unique("UNIQUE", "(")
        self.expect("PRIMARY", "KEY")
        columns = self.names()
        self._not_enforced()
        return name, columns

    def _no_unique(self, *words: str) -> None:
        if self.at(*words):
            raise ValidationException("UNIQUE constraint is not supported yet")

    def _not_enforced(self) -> None:
        if not self.accept("NOT", "ENFORCED"):
            raise ValidationException(
                "Flink doesn't support ENFORCED mode for PRIMARY KEY constraint. ENFORCED/NOT ENFORCED controls if the "
                "constraint checks are performed on the incoming/outgoing data. Flink does not own the data therefore "
                "the only supported mode is the NOT ENFORCED mode"
            )

    def alter(self) -> s.Statement:
        """Take an ALTER statement."""
        self.expect("ALTER")
        kind = self.accept_any("TABLE", "VIEW", "DATABASE", "CATALOG")
        if kind is None and self.at_any("TEMPORARY", "FUNCTION"):
            return self._alter_function()
        if kind == "TABLE":
            return self._alter_table()
        if kind == "VIEW":
            return self._alter_view()
        if kind == "DATABASE":
            path = self.path()
            self.expect("SET")
            return s.AlterDatabase(path, self.options())
        if kind == "CATALOG":
            return self._alter_catalog()
        self.fail("TABLE", "VIEW", "DATABASE", "CATALOG", "FUNCTION")

    def _alter_function(self) -> s.AlterFunction:
        is_temporary = self.accept("TEMPORARY")
        is_system = is_temporary and self.accept("SYSTEM")
        self.expect("FUNCTION")
        exists, path = self.accept("IF", "EXISTS"), self.path()
        class_name, language = self.function_body()
        return s.AlterFunction(path, class_name, language, is_temporary, is_system, exists)

    def function_body(self) -> tuple[str, str]:
        """Take `AS 'module.attribute' LANGUAGE PYTHON`, and return both."""
        self.expect("AS")
        class_name = self.string()
        language = self.next().text.upper() if self.accept("LANGUAGE") else "JAVA"
        if self.accept("USING"):
            self.comma_list(self._resource)
        return class_name, language

    def _resource(self) -> str:
        self.accept_any("JAR", "FILE", "ARCHIVE")
        return self.string()

    def _alter_view(self) -> s.AlterView:
        path = self.path()
        if self.accept("RENAME", "TO"):
            return s.AlterView(path, "RENAME", self.path())
        self.expect("AS")
        begin = self.token.start
        query = self.query()
        return s.AlterView(path, "AS", (query, self.sql[begin : self.tokens[self.index - 1].stop]))

    def _alter_catalog(self) -> s.AlterCatalog:
        name = self.name()
        if self.accept("SET"):
            return s.AlterCatalog(name, "SET", self.options())
        if self.accept("RESET"):
            return s.AlterCatalog(name, "RESET", self.in_parentheses(self.string))
        self.expect("COMMENT")
        return s.AlterCatalog(name, "COMMENT", self.string())

    def _alter_table(self) -> s.AlterTable:
        exists = self.accept("IF", "EXISTS")
        path = self.path()
        action, value = self._table_action()
        return s.AlterTable(path, action, value, exists)

    def _table_action(self) -> tuple[str, object]:
        if self.accept("RENAME", "TO"):
            return "RENAME", self.path()
        if self.accept("RENAME"):
            old = self.name()
            self.expect("TO")
            return "RENAME COLUMN", (old, self.name())
        if self.accept("SET"):
            return "SET", self.options()
        if self.accept("RESET"):
            return "RESET", self.in_parentheses(self.string)
        word = self.accept_any("ADD", "MODIFY")
        if word == "ADD" and (self.at("PARTITION") or self.at("IF", "NOT")):
            return "ADD PARTITION", self._partition()
        if word is not None:
            items = self.in_parentheses(self._alter_item) if self.at("(") else (self._alter_item(),)
            return word, items
        self.expect("DROP")
        if self.at_any("PARTITION", "IF"):
            return "DROP PARTITION", self._partition()
        return "DROP", self._dropped()

    def _partition(self) -> dict[str, object]:
        ignore = self.accept("IF", "NOT", "EXISTS") or self.accept("IF", "EXISTS")
        self.expect("PARTITION")
        values = {}
        self.expect("(")
        while not self.accept(")"):
            name = self.name()
            self.expect("=")
            values[name] = self.expression()
            self.accept(",")
        options = self.options() if self.accept("WITH") else ()
        return {"values": values, "options": options, "ignore": ignore}

    def _alter_item(self) -> s.AlterItem:
        if self.at("WATERMARK", "FOR"):
            return self.watermark(), None
        if self.at_any("PRIMARY", "UNIQUE", "CONSTRAINT"):
            return ("PRIMARY KEY", self.primary_key()[1]), None
        self.accept("COLUMN")
        column, is_key = self.column()
        if is_key:
            self.fail("FIRST", "AFTER")
        if self.accept("FIRST"):
            return column, "FIRST"
        return column, ("AFTER", self.name()) if self.accept("AFTER") else None

    def _dropped(self) -> tuple[str, ...]:
        if self.accept("PRIMARY", "KEY"):
            return ("PRIMARY KEY",)
        if self.accept("WATERMARK"):
            return ("WATERMARK",)
        if self.accept("CONSTRAINT"):
            return ("CONSTRAINT", self.name())
        self.accept("COLUMN")
        return self.names() if self.at("(") else (self.name(),)
