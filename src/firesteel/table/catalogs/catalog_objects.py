"""Objects in catalogs: paths, tables, views, databases, functions; re-exported by `firesteel.table.catalog`."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import total_ordering
from typing import TYPE_CHECKING, Self

from firesteel.columns.type_text import quoted_path
from firesteel.table.schema import Schema
from firesteel.table.table_parts import unresolved_of

if TYPE_CHECKING:
    from firesteel.common.configuration import Configuration
    from firesteel.table.resolved_schema import ResolvedSchema
    from firesteel.table.table_schema import TableSchema


class _Copyable:
    """An object that can be copied."""

    def copy(self) -> Self:
        """Return a copy."""
        return copy.deepcopy(self)


@total_ordering
class ObjectPath:
    """The database and name of an object within a catalog.

    Args:
        database_name: Name of the database. Unlike in `from_string`, it may contain dots.
        object_name: Name of a table, view, function or model.

    Raises:
        ValueError: A name is empty or only white space.

    Example:
        >>> ObjectPath.from_string("shop_db.orders").get_object_name()
        'orders'
    """

    def __init__(self, database_name: str, object_name: str) -> None:
        for part, name in (("databaseName", database_name), ("objectName", object_name)):
            if not name or name.isspace():
                raise ValueError(f"{part} cannot be null or empty")
        self._database_name = database_name
        self._object_name = object_name

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        """Return the path of a text `database.name`.

        Args:
            full_name: A text `database.name`; names with dots are not supported.

        Raises:
            ValueError: The text does not have two parts.
        """
        parts = full_name.split(".")
        if len(parts) != 2:
            raise ValueError(f"Cannot get split '{full_name}' to get databaseName and objectName")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        """Return the name of the database."""
        return self._database_name

    def get_object_name(self) -> str:
        """Return the name of the object."""
        return self._object_name

    def get_full_name(self) -> str:
        """Return `database.name`."""
        return f"{self._database_name}.{self._object_name}"

    def compare_to(self, other: ObjectPath) -> int:
        """Compare two paths by their full names.

        Args:
            other: The path to compare with.

        Returns:
            -1 if this path comes first, 1 if the other one does, and 0 if both are equal.
        """
        mine, others = self.get_full_name(), other.get_full_name()
        return (mine > others) - (mine < others)

    def __lt__(self, other: ObjectPath) -> bool:
        if not isinstance(other, ObjectPath):
            return NotImplemented
        return self.compare_to(other) < 0

    def __str__(self) -> str:
        return self.get_full_name()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectPath) and self.get_full_name() == other.get_full_name()

    def __hash__(self) -> int:
        return hash(self.get_full_name())


class ObjectIdentifier:
    """Catalog, database and name of an object.

    Args:
        catalog_name: Name of the catalog, without backticks; not checked.
        database_name: Name of a database in the catalog; not checked.
        object_name: Name of a table, view, function or model; not checked.

    Example:
        >>> ObjectIdentifier.of("shop", "default", "orders").as_serializable_string()
        '`shop`.`default`.`orders`'
    """

    def __init__(self, catalog_name: str, database_name: str, object_name: str) -> None:
        self._path = (catalog_name, database_name, object_name)

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        """Return the identifier of an object.

        Args:
            catalog_name: Name of the catalog; not checked.
            database_name: Name of the database; not checked.
            object_name: Name of the table, view or function; not checked.
        """
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        """Return the name of the catalog."""
        return self._path[0]

    def get_database_name(self) -> str:
        """Return the name of the database."""
        return self._path[1]

    def get_object_name(self) -> str:
        """Return the name of the object."""
        return self._path[2]

    def to_object_path(self) -> ObjectPath:
        """Return the path within the catalog."""
        return ObjectPath(self._path[1], self._path[2])

    def to_list(self) -> list[str]:
        """Return the three names."""
        return list(self._path)

    def as_serializable_string(self) -> str:
        """Return the names in backticks."""
        return quoted_path(self._path)

    def as_summary_string(self) -> str:
        """Return the names with dots between them."""
        return ".".join(self._path)

    def __str__(self) -> str:
        return self.as_serializable_string()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectIdentifier) and self._path == other._path

    def __hash__(self) -> int:
        return hash(self._path)


class _Described(_Copyable):
    """An object with properties and a comment."""

    def __init__(self, properties: Mapping[str, str], comment: str | None = None) -> None:
        self._properties = dict(properties)
        self._comment = comment

    def get_properties(self) -> dict[str, str]:
        """Return the properties."""
        return dict(self._properties)

    def get_comment(self) -> str:
        """Return the comment, empty if there is none."""
        return self._comment or ""

    def get_description(self) -> str | None:
        """Return the comment."""
        return self._comment

    def get_detailed_description(self) -> str | None:
        """Return the comment."""
        return self._comment


class CatalogDatabase(_Described):
    """A database.

    Example:
        >>> catalog = GenericInMemoryCatalog("shop")
        >>> catalog.create_database("archive", CatalogDatabase.create_instance({"owner": "Ann"}, "Old orders"), False)
        >>> catalog.get_database("archive").get_properties()
        {'owner': 'Ann'}
    """

    @staticmethod
    def create_instance(properties: dict[str, str], comment: str | None = None) -> CatalogDatabase:
        """Return a definition of a database.

        Args:
            properties: Options by key; they are copied.
            comment: Text for people; None for none.
        """
        return CatalogDatabase(properties, comment)


class CatalogPartition(_Described):
    """A partition of a table.

    Example:
        >>> CatalogPartition.create_instance({"owner": "Ann"}, "Orders of May").get_comment()
        'Orders of May'
    """

    @staticmethod
    def create_instance(properties: dict[str, str], comment: str | None = None) -> CatalogPartition:
        """Return a definition of a partition.

        Args:
            properties: Options by key; they are copied.
            comment: Text for people; None for none.
        """
        return CatalogPartition(properties, comment)


class CatalogPartitionSpec:
    """The values of a partition's columns.

    Args:
        partition_spec: Values as text, by name of the partition column; the dict is copied. A spec with only some of
            the columns selects all partitions with these values in `list_partitions`.

    Example:
        >>> CatalogPartitionSpec({"year": "2026", "month": "05"}).get_partition_spec()
        {'year': '2026', 'month': '05'}
    """

    def __init__(self, partition_spec: dict[str, str]) -> None:
        self._partition_spec = dict(partition_spec)

    def get_partition_spec(self) -> dict[str, str]:
        """Return the values by column."""
        return dict(self._partition_spec)

    def __str__(self) -> str:
        return "CatalogPartitionSpec{" + str(self._partition_spec) + "}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogPartitionSpec) and self._partition_spec == other._partition_spec

    def __hash__(self) -> int:
        return hash(tuple(sorted(self._partition_spec.items())))


class CatalogBaseTable(_Copyable):
    """A table or a view, as stored in a catalog, with unresolved names.

    Attributes:
        schema: The declared columns; for a view those of its query, if known.
        options: The options of WITH.
        partition_keys: The partition columns.
        comment: The text of COMMENT.
        query: The query of a view, which is resolved whenever the view is used.
        text: The SQL text of the query of a view.
        view_columns: The column names of a view; empty for those of its query.
        view_schema: The schema of the table that was registered as a view; None for a view in SQL.
        distribution: The clause DISTRIBUTED BY.

    Example:
        >>> orders = CatalogBaseTable.create_table(
        ...     TableSchema(["id"], [DataTypes.BIGINT()]), [], {"connector": "datagen"}, "All orders"
        ... )
        >>> catalog = GenericInMemoryCatalog("shop")
        >>> catalog.create_table(ObjectPath("default", "orders"), orders, ignore_if_exists=False)
        >>> catalog.get_table(ObjectPath("default", "orders")).get_options()
        {'connector': 'datagen'}
    """

    def __init__(
        self,
        schema: Schema,
        options: Mapping[str, str],
        partition_keys: tuple[str, ...] = (),
        comment: str | None = None,
        *,
        query: object = None,
        text: str = "",
        view_columns: tuple[str, ...] = (),
        view_schema: ResolvedSchema | None = None,
        distribution: object = None,
    ) -> None:
        self.schema = schema
        self.options = dict(options)
        self.partition_keys = partition_keys
        self.comment = comment
        self.query = query
        self.text = text
        self.view_columns = view_columns
        self.view_schema = view_schema
        self.distribution = distribution

    @property
    def is_view(self) -> bool:
        """Return whether this is a view."""
        return self.query is not None

    @staticmethod
    def create_table(
        schema: TableSchema,
        partition_keys: list[str] = [],  # noqa: B006 - PyFlink's default, not changed
        properties: dict[str, str] = {},  # noqa: B006 - PyFlink's default, not changed
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Return a definition of a table.

        Args:
            schema: Names and types of the columns.
            partition_keys: Names of the partition columns.
            properties: Options of the connector, including `connector`; they are copied.
            comment: Text for people; None for none.
        """
        return CatalogBaseTable(unresolved_of(schema), properties, tuple(partition_keys), comment)

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: TableSchema,
        properties: dict[str, str],
        comment: str | None = None,
    ) -> CatalogBaseTable:
        """Return a definition of a view.

        Args:
            original_query: The query as the user wrote it, for SHOW CREATE VIEW.
            expanded_query: The query to run; its names are looked up whenever the view is used.
            schema: Names and types of the columns.
            properties: Options by key; they are copied.
            comment: Text for people; None for none.

        The text is parsed whenever the view is used, as in Flink.
        """
        return CatalogBaseTable(
            unresolved_of(schema),
            properties,
            comment=comment,
            query=expanded_query,
            text=original_query,
            view_columns=tuple(schema.get_field_names()),
        )

    def copy(self) -> CatalogBaseTable:
        """Return a copy; the query of a view is shared."""
        return copy.copy(self)

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self.options)

    def get_unresolved_schema(self) -> Schema:
        """Return the declared columns."""
        return self.schema

    def get_comment(self) -> str:
        """Return the comment, empty if there is none."""
        return self.comment or ""

    def get_description(self) -> str | None:
        """Return the comment."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """Return the comment."""
        return self.comment


class CatalogFunction(_Copyable):
    """A function, identified by its Python object (`module.attribute`) or Java class.

    Args:
        class_name: `module.attribute` of a Python object, or a class name of another language; it is not imported.
        function_language: `Python` by default; functions of other languages can be stored but not called.

    Example:
        >>> function = CatalogFunction.create_instance("my_package.functions.shout")
        >>> function.get_class_name(), function.get_function_language()
        ('my_package.functions.shout', 'Python')
    """

    def __init__(self, class_name: str, function_language: str = "Python") -> None:
        self._class_name = class_name
        self._function_language = function_language

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """Return a definition of a function.

        Args:
            class_name: `module.attribute` of a Python object.
            function_language: `Python`; functions of other languages can be stored but not called.
        """
        return CatalogFunction(class_name, function_language)

    def get_class_name(self) -> str:
        """Return the name of the object or class."""
        return self._class_name

    def get_description(self) -> str | None:
        """Return a description."""
        return f"{self._function_language} function {self._class_name}"

    def get_detailed_description(self) -> str | None:
        """Return a description."""
        return self.get_description()

    def get_function_language(self) -> str:
        """Return the language."""
        return self._function_language

    def get_options(self) -> dict[str, str]:
        """Return the options: none."""
        return {}


class CatalogModel(_Copyable):
    """A machine learning model; it can be stored but not executed.

    Args:
        input_schema: Columns that the model reads.
        output_schema: Columns that it would return.
        options: Options by key, such as `provider`; they are copied.
        comment: Text for people; None for none.

    Example:
        >>> rows = Schema.new_builder().column("text", DataTypes.STRING()).build()
        >>> labels = Schema.new_builder().column("label", DataTypes.STRING()).build()
        >>> CatalogModel.create_model(rows, labels, {"provider": "openai"}, "Labels of texts").get_comment()
        'Labels of texts'
    """

    def __init__(
        self, input_schema: Schema, output_schema: Schema, options: dict[str, str], comment: str | None
    ) -> None:
        self._input_schema = input_schema
        self._output_schema = output_schema
        self._options = dict(options)
        self._comment = comment

    @staticmethod
    def create_model(
        input_schema: Schema,
        output_schema: Schema,
        options: dict[str, str] = {},  # noqa: B006 - PyFlink's default, not changed
        comment: str | None = None,
    ) -> CatalogModel:
        """Return a definition of a model.

        Args:
            input_schema: Columns of the input.
            output_schema: Columns of the output.
            options: Options by key; they are copied.
            comment: Text for people; None for none.
        """
        return CatalogModel(input_schema, output_schema, options, comment)

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._options)

    def get_comment(self) -> str:
        """Return the comment, empty if there is none."""
        return self._comment or ""


class CatalogDescriptor:
    """The definition of a catalog: its name, options and comment.

    Args:
        catalog_name: Name under which `create_catalog` registers the catalog.
        configuration: Options of the catalog, including `type`, which selects the implementation.
        comment: Text for people; None for none.

    Example:
        >>> configuration = Configuration()
        >>> _ = configuration.set_string("type", "generic_in_memory")
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> table_env.create_catalog("shop", CatalogDescriptor.of("shop", configuration))
        >>> table_env.list_catalogs()
        ['default_catalog', 'shop']
    """

    def __init__(self, catalog_name: str, configuration: Configuration, comment: str | None = None) -> None:
        self.catalog_name = catalog_name
        self.configuration = configuration
        self.comment = comment

    @staticmethod
    def of(catalog_name: str, configuration: Configuration, comment: str | None = None) -> CatalogDescriptor:
        """Return a definition of a catalog.

        Args:
            catalog_name: Name of the catalog.
            configuration: Options of the catalog, including `type`.
            comment: Text for people; None for none.
        """
        return CatalogDescriptor(catalog_name, configuration, comment)


class Procedure:
    """A procedure; catalogs have none.

    Example:
        >>> GenericInMemoryCatalog("shop").list_procedures("default")
        []
    """
