"""CREATE and DROP of tables, views, functions, catalogs and databases."""

from __future__ import annotations

from typing import TypedDict

from firesteel.table.planner.parse.parse_models import ModelParser
from firesteel.table.syntax import statements as s


class _TableElements(TypedDict, total=False):
    """What the parentheses of CREATE TABLE hold: fields of `CreateTable`."""

    columns: tuple[s.ColumnDefinition, ...]
    watermarks: tuple[s.WatermarkDefinition, ...]
    primary_key: tuple[str, ...]
    constraint_name: str | None
    column_names: tuple[str, ...]


class CreateParser(ModelParser):
    """A parser of CREATE and DROP."""

    def create(self) -> s.Statement:
        """Take a CREATE statement."""
        self.expect("CREATE")
        or_replace = self.accept("OR", "REPLACE")
        is_temporary = self.accept("TEMPORARY")
        is_system = self.accept("SYSTEM")
        if self.at_any("MATERIALIZED", "OR"):
            self._refuse_materialized()
        if not is_system and self.accept("MODEL"):
            return self.create_model(is_temporary)
        kind = self.accept_any("TABLE", "VIEW", "CATALOG", "DATABASE", "FUNCTION")
        if kind == "TABLE":
            return self._create_table(is_temporary, or_replace)
        if kind == "VIEW":
            return self._create_view(is_temporary)
        if kind == "FUNCTION":
            return self._create_function(is_temporary, is_system)
        if kind == "CATALOG":
            exists, name = self._if_not_exists(), self.name()
            comment = self._comment()
            return s.CreateCatalog(name, self.with_options(), comment, exists)
        if kind == "DATABASE":
            exists, path = self._if_not_exists(), self.path()
            comment = self._comment()
            return s.CreateDatabase(path, self.with_options(), comment, exists)
        self.fail("TABLE", "VIEW", "CATALOG", "DATABASE", "FUNCTION", "MODEL")

    def _refuse_materialized(self) -> None:
        self.accept("OR", "ALTER")
        if self.at("MATERIALIZED", "TABLE"):
            self.refuse_materialized_table()

    def _if_not_exists(self) -> bool:
        return self.accept("IF", "NOT", "EXISTS")

    def _if_exists(self) -> bool:
        return self.accept("IF", "EXISTS")

    def _comment(self) -> str | None:
        return self.string() if self.accept("COMMENT") else None

    def with_options(self) -> s.Options:
        """Take WITH (...) if it follows."""
        return self.options() if self.accept("WITH") else ()

    def _create_table(self, is_temporary: bool, or_replace: bool) -> s.CreateTable:
        exists, path = self._if_not_exists(), self.path()
        elements: _TableElements = self._table_elements() if self.at("(") else {}
        comment = self._comment()
        distribution = self._distribution()
        partitioned_by = self.names() if self.accept("PARTITIONED", "BY") else ()
        options = self.with_options()
        like = self._like_clause() if self.accept("LIKE") else None
        query, text = None, ""
        if self.accept("AS"):
            begin = self.token.start
            query = self.query()
            text = self.sql[begin : self.tokens[self.index - 1].stop]
        return s.CreateTable(
            path,
            comment=comment,
            distribution=distribution,
            partitioned_by=partitioned_by,
            options=options,
            is_temporary=is_temporary,
            if_not_exists=exists,
            or_replace=or_replace,
            like=like,
            query=query,
            query_text=text,
            **elements,
        )

    def _distribution(self) -> s.Distribution | None:
        if not self.accept("DISTRIBUTED"):
            return None
        kind, buckets = None, None
        columns: tuple[str, ...] = ()
        if self.accept("BY"):
            kind = self.accept_any("HASH", "RANGE")
            columns = self.names()
        if self.accept("INTO"):
            buckets = self.integer()
            self.expect("BUCKETS")
        return s.Distribution(kind, columns, buckets)

    def _table_elements(self) -> _TableElements:
        """Parse the elements in the parentheses of CREATE TABLE."""
        columns: list[s.ColumnDefinition] = []
        watermarks: list[s.WatermarkDefinition] = []
        primary_key: tuple[str, ...] = ()
        constraint_name = None
        names: list[str] = []
        self.expect("(")
        while True:
            if self.at("WATERMARK", "FOR"):
                watermarks.append(self.watermark())
            elif self.at_any("PRIMARY", "UNIQUE", "CONSTRAINT"):
                constraint_name, primary_key = self.primary_key()
            elif self.is_name() and self.ahead().text in (",", ")"):
                names.append(self.name())
            else:
                column, is_key = self.column()
                columns.append(column)
                if is_key:
                    primary_key = (column.name,)
            if not self.accept(","):
                break
        self.expect(")")
        return {
            "columns": tuple(columns),
            "watermarks": tuple(watermarks),
            "primary_key": primary_key,
            "constraint_name": constraint_name,
            "column_names": tuple(names),
        }

    def _like_clause(self) -> s.LikeClause:
        source = self.path()
        options: list[tuple[str, str]] = []
        if self.accept("("):
            while not self.accept(")"):
                mode = self.accept_any("INCLUDING", "EXCLUDING", "OVERWRITING")
                if mode is None:
                    self.fail("INCLUDING", "EXCLUDING", "OVERWRITING")
                options.append((mode, self.next().upper))
        return s.LikeClause(source, tuple(options))

    def _create_view(self, is_temporary: bool) -> s.CreateView:
        exists, path = self._if_not_exists(), self.path()
        columns = self.names() if self.at("(") and not self.at_query() else ()
        comment = self._comment()
        self.expect("AS")
        begin = self.token.start
        query = self.query()
        text = self.sql[begin : self.tokens[self.index - 1].stop]
        return s.CreateView(path, columns, query, text, comment, is_temporary, exists)

    def _create_function(self, is_temporary: bool, is_system: bool) -> s.CreateFunction:
        exists, path = self._if_not_exists(), self.path()
        class_name, language = self.function_body()
        return s.CreateFunction(path, class_name, language, is_temporary, is_system, exists)

    def drop(self) -> s.Statement:
        """Take a DROP statement."""
        self.expect("DROP")
        is_temporary = self.accept("TEMPORARY")
        is_system = self.accept("SYSTEM")
        self._refuse_materialized()
        if not is_system and self.accept("MODEL"):
            return self.drop_model(is_temporary)
        kind = self.accept_any("TABLE", "VIEW", "CATALOG", "DATABASE", "FUNCTION")
        if kind is None:
            self.fail("TABLE", "VIEW", "CATALOG", "DATABASE", "FUNCTION", "MODEL")
        exists, path = self._if_exists(), self.path()
        cascade = self.accept_any("RESTRICT", "CASCADE") == "CASCADE"
        return s.Drop(kind, path, is_temporary, is_system, exists, cascade)
