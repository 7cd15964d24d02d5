"""Statements of SQL that are no queries: SHOW, USE, SET, INSERT, EXPLAIN and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from firesteel.table.planner.parse.parse_create import CreateParser
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.hint_checks import table_options
from firesteel.table.syntax.unresolved import Unresolved


class StatementParser(CreateParser):
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
        words = next((words for words in SHOWN if self.accept(*words.split())), None)
        if words is None:
            self.fail(*(words.split()[0] for words in SHOWN))
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
        return s.LoadModule(self.name(), self.with_options(), unload)

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
        query = self.query()
        return s.Insert(path, query, columns, partition, overwrite, options, self._deduplicates())

    def _deduplicates(self) -> bool:
        """Return whether ON CONFLICT DO DEDUPLICATE follows."""
        if not self.accept("ON", "CONFLICT", "DO"):
            return False
        for strategy in ("ERROR", "NOTHING"):
            if self.at(strategy):
                self.refuse(
                    f"ON CONFLICT DO {strategy} is not supported", "ON CONFLICT DO DEDUPLICATE keeps the last row"
                )
        self.expect("DEDUPLICATE")
        return True

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
        "CREATE": CreateParser.create,
        "DROP": CreateParser.drop,
        "ALTER": CreateParser.alter,
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
        "CALL": CreateParser.call,
    }


SHOWN = (
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
