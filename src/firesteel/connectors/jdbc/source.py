"""JDBC source: re-exported by `firesteel.datastream.connectors.jdbc`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlencode

from firesteel.common.typeinfo import PickledBytesTypeInfo, RowTypeInfo, TypeInformation
from firesteel.connectors.jdbc.address import database_of
from firesteel.connectors.jdbc.database import Database, count_parameters
from firesteel.connectors.jdbc.parameters import JdbcParameterValuesProvider
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext

_MOST_UNITS = 1_000_000


@dataclass(frozen=True)
class JdbcSourceSettings:
    """Settings of a `JdbcSource`.

    Attributes:
        database: The database.
        sql: The query, with `?` for parameters.
        type_info: Type of the elements.
        splits: The parameters of each split by its id.
        result_extractor: Converts a row of the driver to an element; None makes a Row of `type_info`.
        fetch_size: Approximate number of rows in the client's memory at a time.
    """

    database: Database
    sql: str
    type_info: TypeInformation[Any]
    splits: dict[str, tuple[Any, ...]] = field(repr=False)
    result_extractor: Callable[[tuple[Any, ...]], Any] | None
    fetch_size: int


class JdbcSource(Source[Any]):
    """Reads the rows of a query in splits (Flink: `connector.jdbc.source.JdbcSource`; PyFlink has no such class).

    Each split is the query with its own parameters. The splits are distributed over the subtasks, and a batch reads
    whole splits, so a checkpoint contains the unread splits. Reading is exactly-once if the rows of a split do not
    change while the job runs. Difference to Flink: Flink also stores the number of rows read of a split, so it needs a
    fixed order of rows; this source does not. The source is bounded.

    Attributes:
        settings: Settings of the source.

    Example:
        >>> source = (
        ...     JdbcSource.builder()
        ...     .set_db_url("jdbc:postgresql://localhost/shop")
        ...     .set_username("reader")
        ...     .set_sql("SELECT id, name FROM orders WHERE id BETWEEN ? AND ?")
        ...     .set_jdbc_parameter_values_provider(NumericBetweenParametersProvider(1, 1000000).of_batch_size(10000))
        ...     .set_type_information(Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]))
        ...     .build()
        ... )
        >>> orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    """

    def __init__(self, settings: JdbcSourceSettings) -> None:
        super().__init__()
        self.settings = settings

    @staticmethod
    def builder() -> JdbcSourceBuilder:
        """Return a builder."""
        return JdbcSourceBuilder()

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the elements."""
        return self.settings.type_info

    reading_hints = ReadingHints(open_at_once=1)

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of queries."""
        from firesteel.connectors.jdbc.splits import JdbcEnumerator

        return JdbcEnumerator(self.settings, self.units)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        from firesteel.connectors.jdbc.splits import JdbcReader

        return JdbcReader(self.settings)

    @staticmethod
    def units(parameters: tuple[Any, ...]) -> int:
        """Return the estimated number of rows of a split.

        Args:
            parameters: Parameters of the split. Two integers are a range, of at most 1,000,000 rows; anything else
                counts as 1000.
        """
        if len(parameters) == 2 and all(type(value) is int for value in parameters):
            first, last = map(int, parameters)
            return min(max(1, last - first + 1), _MOST_UNITS)
        return 1000


@dataclass(frozen=True)
class _Parts:
    url: str = ""
    user_name: str | None = None
    password: str | None = None
    sql: str = ""
    type_info: TypeInformation[Any] | None = None
    provider: JdbcParameterValuesProvider | None = None
    extractor: Callable[[tuple[Any, ...]], Any] | None = None
    fetch_size: int = 1000
    properties: tuple[tuple[str, str], ...] = ()


class JdbcSourceBuilder:
    """A builder of `JdbcSource` (Flink: `JdbcSourceBuilder`, with names in snake case).

    Example:
        >>> source = (
        ...     JdbcSource.builder()
        ...     .set_db_url("jdbc:sqlite:/data/shop.db")
        ...     .set_sql("SELECT id, name FROM customers")
        ...     .set_type_information(Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()]))
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        self._parts = _Parts()

    def set_db_url(self, db_url: str) -> JdbcSourceBuilder:
        """Set the address of the database, which also selects the Python driver.

        Args:
            db_url: `jdbc:sqlite:<path>`, `jdbc:postgresql://<host>:<port>/<name>`, `jdbc:mysql://...` or
                `jdbc:mariadb://...`.
        """
        return self._change(url=db_url)

    def set_driver_name(self, driver_name: str) -> JdbcSourceBuilder:
        """Do nothing: the address determines the driver.

        Args:
            driver_name: Class name of a JDBC driver; not checked.
        """
        return self

    def set_username(self, username: str) -> JdbcSourceBuilder:
        """Set the user name.

        Args:
            username: Name of the database's user; SQLite ignores it. By default the driver chooses.
        """
        return self._change(user_name=username)

    def set_password(self, password: str) -> JdbcSourceBuilder:
        """Set the password.

        Args:
            password: Sent when a subtask connects; SQLite ignores it.
        """
        return self._change(password=password)

    def set_connection_property(self, key: str, value: str) -> JdbcSourceBuilder:
        """Add a property to the query string of the address.

        Args:
            key: Name of a property of the JDBC driver; SQLite ignores it, and MySQL warns if it has no counterpart.
            value: Not quoted: the builder quotes it for the address.
        """
        return self._change(properties=(*self._parts.properties, (key, value)))

    def set_sql(self, sql: str) -> JdbcSourceBuilder:
        """Set the query; `build` fails without one.

        Args:
            sql: A `SELECT`; each `?` stands for one parameter of a split.
        """
        return self._change(sql=sql)

    def set_jdbc_parameter_values_provider(self, provider: JdbcParameterValuesProvider) -> JdbcSourceBuilder:
        """Set the provider of the parameters of each split; by default there is one split without parameters.

        Args:
            provider: Such as `NumericBetweenParametersProvider`; `build` asks it once, and each of its lists becomes a
                split.
        """
        return self._change(provider=provider)

    def set_type_information(self, type_information: TypeInformation[Any]) -> JdbcSourceBuilder:
        """Set the type of the elements.

        Args:
            type_information: A `Types.ROW` of the columns, or with a result extractor the type of its results (default:
                pickled).
        """
        return self._change(type_info=type_information)

    def set_result_extractor(self, result_extractor: Callable[[tuple[Any, ...]], Any]) -> JdbcSourceBuilder:
        """Set a function that converts a tuple of columns to an element (Flink: `ResultExtractor`).

        By default elements are Rows.

        Args:
            result_extractor: Gets the columns as the Python driver returns them.
        """
        return self._change(extractor=result_extractor)

    def set_result_set_fetch_size(self, result_set_fetch_size: int) -> JdbcSourceBuilder:
        """Set the number of rows that the driver fetches at a time.

        Args:
            result_set_fetch_size: At least 1 (default 1000); more rows need more memory in the subtask.

        Raises:
            ValueError: the number is less than 1.
        """
        if result_set_fetch_size < 1:
            raise ValueError(f"JdbcSource: fetch size must be 1 or greater, found {result_set_fetch_size}")
        return self._change(fetch_size=result_set_fetch_size)

    def _change(self, **parts: Any) -> JdbcSourceBuilder:
        self._parts = replace(self._parts, **parts)
        return self

    def build(self) -> JdbcSource:
        """Return the source.

        Raises:
            ValueError: address, query or type is missing, or a split has the wrong number of parameters.
            TypeError: there is neither a `Types.ROW` nor a result extractor.
        """
        parts = self._parts
        for is_there, method in (
            (parts.url, "set_db_url()"),
            (parts.sql, "set_sql()"),
            (parts.type_info or parts.extractor, "set_type_information()"),
        ):
            if not is_there:
                raise ValueError(f"JdbcSource: call {method}")
        type_info = parts.type_info or PickledBytesTypeInfo()
        if parts.extractor is None and not isinstance(type_info, RowTypeInfo):
            raise TypeError(f"JdbcSource: type information must be a Types.ROW or Types.ROW_NAMED, found {type_info!r}")
        splits = _splits(parts)
        url = parts.url
        if parts.properties:
            url += ("&" if "?" in url else "?") + urlencode(parts.properties)
        database = database_of(url, parts.user_name, parts.password)
        return JdbcSource(JdbcSourceSettings(database, parts.sql, type_info, splits, parts.extractor, parts.fetch_size))


def _splits(parts: _Parts) -> dict[str, tuple[Any, ...]]:
    """Return the parameters of each split by id; the id contains them, so that a changed split gets a new id."""
    values = [()] if parts.provider is None else [tuple(each) for each in parts.provider.get_parameter_values()]
    expected = count_parameters(parts.sql)
    for each in values:
        if len(each) != expected:
            raise ValueError(
                f"JdbcSource: {parts.sql!r} has {expected} parameters, a split has {len(each)}: {each!r}; "
                "set_jdbc_parameter_values_provider() gives them"
            )
    return {f"{i}: {', '.join(map(repr, each))}": each for i, each in enumerate(values)}
