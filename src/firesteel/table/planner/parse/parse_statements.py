"""Statements of SQL that are no queries: DDL, SHOW, USE, INSERT and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, TypedDict

from firesteel.table.planner.parse.parse_models import ModelParser
from firesteel.table.planner.resolve.select_hints import table_options
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.unresolved import Unresolved


class _TableElements(TypedDict, total=False):
    """What the parentheses of CREATE TABLE hold: fields of `CreateTable`."""

    columns: tuple[s.ColumnDefinition, ...]
    watermarks: tuple[s.WatermarkDefinition, ...]
    primary_key: tuple[str, ...]
    constraint_name: str | None
    column_names: tuple[str, ...]


class StatementParser(ModelParser):
    """A parser of statements."""

    def statement(self) -> s.Statement:
        """Take a statement."""
        if self.at_query() or self.at("TABLE"):
            return s.Query(self.query())
        for words, refusal in _REFUSED.items():
            if self.at(*words.split()):
                self.refuse(*refusal)
        parse = self.statements.get(self.token.upper)
        if parse is None:
            self.fail(*sorted((*self.statements, "SELECT", "VALUES", "WITH")))
        return parse(self)

    # --- CREATE and DROP -----------------------------------------------------------------------------------------

    def _create(self) -> s.Statement:
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
            return s.CreateCatalog(name, self._with_options(), comment, exists)
        if kind == "DATABASE":
            exists, path = self._if_not_exists(), self.path()
            comment = self._comment()
            return s.CreateDatabase(path, self._with_options(), comment, exists)
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

    def _with_options(self) -> s.Options:
        return self.options() if self.accept("WITH") else ()

    def _create_table(self, is_temporary: bool, or_replace: bool) -> s.CreateTable:
        exists, path = self._if_not_exists(), self.path()
        elements: _TableElements = self._table_elements() if self.at("(") else {}
        comment = self._comment()
        distribution = self._distribution()
        partitioned_by = self.names() if self.accept("PARTITIONED", "BY") else ()
        options = self._with_options()
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
        while not self.at(")"):
            if self.at("WATERMARK", "FOR"):
                watermarks.append(self.watermark())
            elif self.at_any("PRIMARY", "CONSTRAINT"):
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

    def _drop(self) -> s.Statement:
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

    # --- the rest ------------------------------------------------------------------------------------------------

    def _use(self) -> s.Use:
        self.expect("USE")
        if self.accept("CATALOG"):
            return s.Use("CATALOG", (self.name(),))
        if self.accept("MODULES"):
            return s.Use("MODULES", self.comma_list(self.name))
        return s.Use("DATABASE", self.path())

    def _show(self) -> s.Show:
        self.expect("SHOW")
        if self.at("CREATE", "MATERIALIZED"):
            self.next()
            self.refuse_materialized_table()
        words = next((words for words in _SHOWN if self.accept(*words.split())), None)
        if words is None:
            self.fail(*(words.split()[0] for words in _SHOWN))
        path: s.Path = ()
        if words.startswith("CREATE") or words == "PARTITIONS" or self.accept_any("FROM", "IN"):
            path = self.path()
        partition = self.in_parentheses(self._assignment) if self.accept("PARTITION") else ()
        negated = self.accept("NOT")
        word = self.accept_any("LIKE", "ILIKE")
        pattern = self.string() if word else None
        return s.Show(words, path, pattern, negated, word == "ILIKE", partition)

    def _assignment(self) -> tuple[str, Unresolved]:
        name = self.name()
        self.expect("=")
        return name, self.expression()

    def _describe(self) -> s.Describe:
        self.next()
        kind = "TABLE"
        if self.at_any("CATALOG", "DATABASE", "JOB", "FUNCTION", "MODEL") and self.ahead().kind != "end":
            kind = self.next().upper
        extended = self.accept("EXTENDED")
        if kind == "JOB":
            return s.Describe((self.string(),), kind, extended)
        return s.Describe(self.path(), kind, extended)

    def _stop(self) -> s.StopJob:
        self.expect("STOP", "JOB")
        job_id = self.string()
        with_savepoint = self.accept("WITH", "SAVEPOINT")
        return s.StopJob(job_id, with_savepoint, with_savepoint and self.accept("WITH", "DRAIN"))

    def _explain(self) -> s.Explain:
        self.expect("EXPLAIN")
        if self.accept("PLAN", "FOR"):
            return s.Explain(self.statement())
        if self.accept("STATEMENT", "SET"):
            return s.Explain(self._statement_set())
        details: tuple[str, ...] = ()
        if self.token.upper in ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE"):
            details = self.comma_list(lambda: self.next().upper)
        return s.Explain(self.statement(), details)

    def _load(self) -> s.LoadModule:
        unload = self.next().upper == "UNLOAD"
        self.expect("MODULE")
        return s.LoadModule(self.name(), self._with_options(), unload)

    def _set(self) -> s.SetOption:
        self.expect("SET")
        if self.token.kind == "end" or self.at(";"):
            return s.SetOption()
        key = self._option_key()
        if not self.accept("="):
            return s.SetOption(key)
        begin = self.token
        if begin.kind == "string":
            return s.SetOption(key, self.string())
        while self.token.kind != "end" and not self.at(";"):
            self.next()
        return s.SetOption(key, self.sql[begin.start : self.tokens[self.index - 1].stop])

    def _reset(self) -> s.SetOption:
        self.expect("RESET")
        done = self.token.kind == "end" or self.at(";")
        return s.SetOption(None if done else self._option_key(), reset=True)

    def _option_key(self) -> str:
        if self.token.kind == "string":
            return self.string()
        begin = self.token
        while self.token.kind in ("word", "quoted") or self.at(".") or self.at("-"):
            self.next()
        return self.sql[begin.start : self.tokens[self.index - 1].stop]

    def _insert(self) -> s.Insert:
        self.expect("INSERT")
        overwrite = self.accept("OVERWRITE")
        if not overwrite:
            self.expect("INTO")
        else:
            self.accept("INTO")
        self.accept("TABLE")
        path, options = self.path(), tuple(table_options(self.hints()).items())
        partition = self.in_parentheses(self._assignment) if self.accept("PARTITION") else ()
        columns = self.names() if self.at("(") and not self.at_query() else ()
        return s.Insert(path, self.query(), columns, partition, overwrite, options)

    def _execute(self) -> s.Statement:
        self.expect("EXECUTE")
        if self.accept("STATEMENT", "SET"):
            return self._statement_set()
        if self.accept("PLAN"):
            return s.ExecutePlan(self.string())
        return self.statement()

    def _compile(self) -> s.CompilePlan:
        self.expect("COMPILE")
        executes = self.accept("AND", "EXECUTE")
        self.expect("PLAN")
        path = self.string()
        if_not_exists = executes or self.accept("IF", "NOT", "EXISTS")
        self.expect("FOR")
        in_set = self.accept("STATEMENT", "SET")
        return s.CompilePlan(path, self._statement_set() if in_set else self._insert(), if_not_exists, executes)

    def _begin(self) -> s.StatementSetBlock:
        self.expect("BEGIN", "STATEMENT", "SET")
        self.expect(";")
        return self._inserts()

    def _statement_set(self) -> s.StatementSetBlock:
        self.expect("BEGIN")
        return self._inserts()

    def _inserts(self) -> s.StatementSetBlock:
        inserts = []
        while not self.accept("END"):
            inserts.append(self._insert())
            self.expect(";")
        return s.StatementSetBlock(tuple(inserts))

    def _delete(self) -> s.Delete:
        self.expect("DELETE", "FROM")
        path = self.path()
        return s.Delete(path, self.expression() if self.accept("WHERE") else None)

    def _analyze(self) -> s.AnalyzeTable:
        self.expect("ANALYZE", "TABLE")
        path = self.path()
        partition = self.in_parentheses(self._assignment) if self.accept("PARTITION") else ()
        self.expect("COMPUTE", "STATISTICS")
        columns: tuple[str, ...] | None = None
        if self.accept("FOR"):
            columns = () if self.accept("ALL", "COLUMNS") else None
            if columns is None:
                self.expect("COLUMNS")
                columns = self.comma_list(self.name)
        return s.AnalyzeTable(path, partition, columns)

    statements: ClassVar[dict[str, Callable[[StatementParser], s.Statement]]] = {
        "CREATE": _create,
        "DROP": _drop,
        "ALTER": ModelParser.alter,
        "USE": _use,
        "SHOW": _show,
        "DESCRIBE": _describe,
        "DESC": _describe,
        "EXPLAIN": _explain,
        "LOAD": _load,
        "UNLOAD": _load,
        "SET": _set,
        "RESET": _reset,
        "INSERT": _insert,
        "EXECUTE": _execute,
        "COMPILE": _compile,
        "BEGIN": _begin,
        "DELETE": _delete,
        "ANALYZE": _analyze,
        "STOP": _stop,
        "CALL": ModelParser.call,
    }


_SHOWN = (
    "CATALOGS",
    "CURRENT CATALOG",
    "DATABASES",
    "CURRENT DATABASE",
    "TABLES",
    "VIEWS",
    "COLUMNS",
    "FUNCTIONS",
    "USER FUNCTIONS",
    "MODULES",
    "FULL MODULES",
    "MODELS",
    "PROCEDURES",
    "MATERIALIZED TABLES",
    "PARTITIONS",
    "JARS",
    "JOBS",
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE CATALOG",
    "CREATE MODEL",
)
_NO_JARS = "Jars are not supported", "There is no Java code in jobs; connectors and functions are Python packages"
_BY_KEY = "INSERT INTO a table with a primary key replaces the rows of its keys"
_REFUSED = {
    "ADD JAR": _NO_JARS,
    "REMOVE JAR": _NO_JARS,
    "TRUNCATE TABLE": ("TRUNCATE TABLE is not supported", "INSERT OVERWRITE replaces the rows of a file table"),
    "UPDATE": ("UPDATE is not supported", _BY_KEY),
    "MERGE INTO": ("MERGE INTO is not supported", _BY_KEY),
    "REPLACE TABLE": ("REPLACE TABLE is not supported", "Use CREATE OR REPLACE TABLE"),
    "CREATE CONNECTION": ("Connections are not supported", "Give the options to each table"),
}
"""Statements that Flink has: what is not supported, and what to do instead."""
