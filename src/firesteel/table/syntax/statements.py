"""SQL statements as plain data, returned by the parser and executed by the table environment. Flink: `Operation`.

A `path` is an identifier as it was written: table, or database and table, or catalog, database and table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.columns.column_types import DataType
from firesteel.table.syntax import queries
from firesteel.table.syntax.unresolved import Position, Unresolved

Path = tuple[str, ...]
Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column of CREATE TABLE.

    Attributes:
        type: Its logical type; None for that of `expression`.
        expression: The unresolved expression of a computed column.
        text: The text of that expression, or of the type, if it was given as text.
        metadata_key: The key of a metadata column (`is_metadata`), by default its name.
        is_virtual: Whether it is a metadata column that sinks do not write.
    """

    name: str
    type: DataType | None = None
    expression: Unresolved | None = None
    text: str = ""
    is_metadata: bool = False
    metadata_key: str | None = None
    is_virtual: bool = False
    comment: str | None = None

    @property
    def declared_type(self) -> DataType:
        """The type of a column that is not computed."""
        assert self.type is not None
        return self.type


@dataclass(frozen=True, slots=True)
class WatermarkDefinition:
    """`WATERMARK FOR column AS expression`; the column may be a path into a row."""

    column: str
    expression: Unresolved
    text: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """`DISTRIBUTED BY HASH(a) INTO 4 BUCKETS`."""

    kind: str | None
    columns: tuple[str, ...]
    buckets: int | None


@dataclass(frozen=True, slots=True)
class LikeClause:
    """`LIKE source (INCLUDING ALL EXCLUDING OPTIONS ...)`: pairs of (INCLUDING, ALL)."""

    source: Path
    options: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTable:
    """CREATE [OR REPLACE] [TEMPORARY] TABLE; `query` for CREATE TABLE ... AS SELECT."""

    path: Path
    columns: tuple[ColumnDefinition, ...] = ()
    watermarks: tuple[WatermarkDefinition, ...] = ()
    primary_key: tuple[str, ...] = ()
    constraint_name: str | None = None
    partitioned_by: tuple[str, ...] = ()
    distribution: Distribution | None = None
    options: Options = ()
    comment: str | None = None
    is_temporary: bool = False
    if_not_exists: bool = False
    or_replace: bool = False
    like: LikeClause | None = None
    query: queries.Query | None = None
    query_text: str = ""
    column_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateView:
    """CREATE [TEMPORARY] VIEW; `text` is the original text of the query."""

    path: Path
    columns: tuple[str, ...]
    query: queries.Query
    text: str
    comment: str | None = None
    is_temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateCatalog:
    """CREATE CATALOG name WITH (...)."""

    name: str
    options: Options = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateDatabase:
    """CREATE DATABASE."""

    path: Path
    options: Options = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateFunction:
    """CREATE [TEMPORARY [SYSTEM]] FUNCTION name AS 'module.attribute' LANGUAGE PYTHON."""

    path: Path
    class_name: str
    language: str = "JAVA"
    is_temporary: bool = False
    is_system: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class CreateModel:
    """CREATE [TEMPORARY] MODEL name INPUT (...) OUTPUT (...) WITH (...)."""

    path: Path
    inputs: tuple[ColumnDefinition, ...] = ()
    outputs: tuple[ColumnDefinition, ...] = ()
    options: Options = ()
    comment: str | None = None
    is_temporary: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterModel:
    """ALTER MODEL.

    Attributes:
        action: RENAME, SET or RESET.
        value: The new path, the options, or the keys.
    """

    path: Path
    action: str
    value: Any
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropModel:
    """DROP [TEMPORARY] MODEL."""

    path: Path
    is_temporary: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """CALL of a procedure, with unresolved arguments."""

    path: Path
    arguments: tuple[Unresolved, ...] = ()
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class AlterFunction:
    """ALTER [TEMPORARY [SYSTEM]] FUNCTION name AS 'module.attribute' LANGUAGE PYTHON."""

    path: Path
    class_name: str
    language: str
    is_temporary: bool
    is_system: bool
    if_exists: bool


@dataclass(frozen=True, slots=True)
class Drop:
    """DROP of a TABLE, VIEW, CATALOG, DATABASE or FUNCTION."""

    kind: str
    path: Path
    is_temporary: bool = False
    is_system: bool = False
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class AlterTable:
    """ALTER TABLE with one action.

    Attributes:
        action: RENAME (`value`: new path), SET (options), RESET (keys), ADD, MODIFY (items: `(definition, position)`
            with position `FIRST`, `AFTER x` as `("AFTER", "x")` or None; WatermarkDefinition and
            `("PRIMARY KEY", columns)` likewise), DROP (names, `("PRIMARY KEY",)`, `("WATERMARK",)`,
            `("CONSTRAINT", name)`), RENAME COLUMN (pair), ADD PARTITION, DROP PARTITION.
    """

    path: Path
    action: str
    value: Any
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterView:
    """ALTER VIEW: RENAME (new path) or AS (query, text)."""

    path: Path
    action: str
    value: Any


@dataclass(frozen=True, slots=True)
class AlterDatabase:
    """ALTER DATABASE ... SET (...)."""

    path: Path
    options: Options


@dataclass(frozen=True, slots=True)
class AlterCatalog:
    """ALTER CATALOG: SET (options), RESET (keys) or COMMENT (text)."""

    name: str
    action: str
    value: Any


@dataclass(frozen=True, slots=True)
class Use:
    """USE CATALOG, USE (a database: DATABASE) or USE MODULES."""

    kind: str
    path: Path


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW.

    Attributes:
        what: CATALOGS, CURRENT CATALOG, DATABASES, CURRENT DATABASE, TABLES, VIEWS, COLUMNS, FUNCTIONS, USER FUNCTIONS,
            MODULES, FULL MODULES, MODELS, PROCEDURES, MATERIALIZED TABLES, PARTITIONS, JARS, JOBS, CREATE TABLE,
            CREATE VIEW, CREATE MODEL or CREATE CATALOG.
        path: The object concerned (`SHOW TABLES FROM db`, `SHOW CREATE TABLE t`); empty for the current one.
        pattern: The pattern of LIKE or ILIKE; `negated` for NOT LIKE, `ignore_case` for ILIKE.
    """

    what: str
    path: Path = ()
    pattern: str | None = None
    negated: bool = False
    ignore_case: bool = False
    partition: tuple[tuple[str, Unresolved], ...] = ()


@dataclass(frozen=True, slots=True)
class Describe:
    """DESCRIBE of a TABLE, CATALOG, DATABASE, FUNCTION, MODEL or JOB; `extended` for DESCRIBE EXTENDED."""

    path: Path
    kind: str = "TABLE"
    extended: bool = False


@dataclass(frozen=True, slots=True)
class StopJob:
    """STOP JOB, `with_savepoint` and then possibly `with_drain`."""

    job_id: str
    with_savepoint: bool = False
    with_drain: bool = False


@dataclass(frozen=True, slots=True)
class CompilePlan:
    """COMPILE PLAN and COMPILE AND EXECUTE PLAN, with the path of a file."""

    path: str
    statement: Insert | StatementSetBlock
    if_not_exists: bool = False
    executes: bool = False


@dataclass(frozen=True, slots=True)
class ExecutePlan:
    """EXECUTE PLAN, with the path of a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Explain:
    """EXPLAIN of a statement; `details` such as CHANGELOG_MODE, ESTIMATED_COST, JSON_EXECUTION_PLAN."""

    statement: Statement
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadModule:
    """LOAD MODULE name WITH (...) or, without options, UNLOAD MODULE (`unload`)."""

    name: str
    options: Options = ()
    unload: bool = False


@dataclass(frozen=True, slots=True)
class SetOption:
    """SET 'key' = 'value' (SQL client); without a key it lists all options. `reset` marks RESET."""

    key: str | None = None
    value: str | None = None
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT, VALUES or WITH statement."""

    query: queries.Query


@dataclass(frozen=True, slots=True)
class Insert:
    """INSERT INTO or OVERWRITE.

    Attributes:
        columns: The column list, empty: all columns.
        partition: Static partition values, as unresolved expressions by column.
        options: Options of the table for this statement, from the hint OPTIONS.
        deduplicates: Whether it has ON CONFLICT DO DEDUPLICATE.
    """

    path: Path
    query: queries.Query
    columns: tuple[str, ...] = ()
    partition: tuple[tuple[str, Unresolved], ...] = ()
    overwrite: bool = False
    options: tuple[tuple[str, str], ...] = ()
    deduplicates: bool = False


@dataclass(frozen=True, slots=True)
class StatementSetBlock:
    """EXECUTE STATEMENT SET BEGIN ... END, with its inserts."""

    inserts: tuple[Insert, ...]


@dataclass(frozen=True, slots=True)
class Delete:
    """DELETE FROM t WHERE ...."""

    path: Path
    where: Unresolved | None


@dataclass(frozen=True, slots=True)
class AnalyzeTable:
    """ANALYZE TABLE."""

    path: Path
    partition: tuple[tuple[str, Unresolved], ...] = ()
    columns: tuple[str, ...] | None = None


Statement = (
    CreateTable
    | CreateView
    | CreateCatalog
    | CreateDatabase
    | CreateFunction
    | CreateModel
    | AlterModel
    | DropModel
    | Call
    | AlterFunction
    | Drop
    | AlterTable
    | AlterView
    | AlterDatabase
    | AlterCatalog
    | Use
    | Show
    | Describe
    | StopJob
    | CompilePlan
    | ExecutePlan
    | Explain
    | LoadModule
    | SetOption
    | Query
    | Insert
    | StatementSetBlock
    | Delete
    | AnalyzeTable
)
"""A statement: one of those defined above."""

AlterItem = tuple[ColumnDefinition | WatermarkDefinition | tuple[str, tuple[str, ...]], str | tuple[str, str] | None]
AlterItems = tuple[AlterItem, ...]
"""What ADD and MODIFY name; see `AlterTable`."""
