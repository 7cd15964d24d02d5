"""Descriptors of tables and formats (module as `pyflink.table.table_descriptor`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firesteel.common.config_options import ConfigOption
from firesteel.common.keys.key_groups import java_hasher
from firesteel.common.typeinfo import Types
from firesteel.table.schema import Schema

__all__ = ["FormatDescriptor", "TableDescriptor"]


def option_text(value: object) -> str:
    """Return an option's value as Flink writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ";".join(map(option_text, value))
    return str(value)


def option_key(key: str | ConfigOption[Any]) -> str:
    """Return the name of an option."""
    return key if isinstance(key, str) else str(key.key)


def in_order_of_java(keys: Iterable[str]) -> list[str]:
    """Return keys in the order of Java's `HashMap`, in which Flink prints descriptors."""
    keys, hash_of = list(keys), java_hasher(Types.STRING())
    buckets = 16
    while len(keys) > buckets * 0.75:
        buckets *= 2
    return sorted(keys, key=lambda key: (hash_of(key) ^ hash_of(key) >> 16) & buckets - 1)


class FormatDescriptor:
    """A format with its options; the keys are not prefixed with the name of the format.

    `for_format` returns a builder, which converts the values of options to text.

    Args:
        format: Name of the format, such as `json`.
        options: Options as text by key, used without a copy.

    Example:
        >>> json = FormatDescriptor.for_format("json").option("ignore-parse-errors", "true").build()
        >>> descriptor = TableDescriptor.for_connector("filesystem").option("path", "/data/in").format(json).build()
    """

    def __init__(self, format: str, options: dict[str, str]) -> None:
        self._format = format
        self._options = options

    @staticmethod
    def for_format(format: str) -> FormatDescriptor.Builder:
        """Return a builder of a format without options.

        Args:
            format: Name of the format, such as `json`.
        """
        return FormatDescriptor.Builder(format)

    def get_format(self) -> str:
        """Return the name of the format."""
        return self._format

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._options)

    def __str__(self) -> str:
        options = ", ".join(f"{key}={self._options[key]}" for key in in_order_of_java(self._options))
        return f"{self._format}[{{{options}}}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FormatDescriptor) and (self._format, self._options) == (other._format, other._options)

    def __hash__(self) -> int:
        return hash((self._format, tuple(sorted(self._options.items()))))

    class Builder:
        """A builder of `FormatDescriptor`."""

        def __init__(self, format: str) -> None:
            self._format = format
            self._options: dict[str, str] = {}

        def option(self, key: str | ConfigOption[Any], value: object) -> FormatDescriptor.Builder:
            """Set an option.

            Args:
                key: Name of the option without the name of the format, or a `ConfigOption`.
                value: Converted to text: booleans as `true` or `false`, lists with `;` between their items.
            """
            self._options[option_key(key)] = option_text(value)
            return self

        def build(self) -> FormatDescriptor:
            """Return the descriptor."""
            return FormatDescriptor(self._format, dict(self._options))


class TableDescriptor:
    """The definition of a table: connector, schema, format and options (Flink: `TableDescriptor`).

    `for_connector` returns a builder, which converts the values of options to text.

    Args:
        schema: Columns, watermarks and primary key; None for a sink takes the columns of the query.
        options: Options as text by key, including `connector`; used without a copy.
        partition_keys: Names of the columns by which the table is partitioned; empty for none.
        comment: Text for people; None for none.

    Example:
        >>> from firesteel.table import DataTypes, Schema, TableDescriptor
        >>> schema = Schema.new_builder().column("id", DataTypes.BIGINT()).build()
        >>> descriptor = TableDescriptor.for_connector("datagen").schema(schema).option("rows-per-second", "10").build()
        >>> descriptor.get_options()
        {'connector': 'datagen', 'rows-per-second': '10'}
    """

    def __init__(
        self,
        schema: Schema | None,
        options: dict[str, str],
        partition_keys: tuple[str, ...] = (),
        comment: str | None = None,
    ) -> None:
        self._schema = schema
        self._options = options
        self._partition_keys = partition_keys
        self._comment = comment

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Return a builder of a table without schema.

        Args:
            connector: Name of the connector, such as `kafka`.
        """
        return TableDescriptor.Builder(connector)

    def get_schema(self) -> Schema | None:
        """Return the schema."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """Return the options."""
        return dict(self._options)

    def get_partition_keys(self) -> list[str]:
        """Return the partition columns."""
        return list(self._partition_keys)

    def get_comment(self) -> str | None:
        """Return the comment."""
        return self._comment

    def __str__(self) -> str:
        options = ",\n".join(f"  '{key}' = '{self._options[key]}'" for key in in_order_of_java(self._options))
        partitions = ", ".join(f"`{key}`" for key in self._partition_keys)
        return "\n".join(
            [
                str(self._schema or ""),
                *([f"COMMENT '{self._comment}'"] if self._comment else []),
                *([f"PARTITIONED BY ({partitions})"] if partitions else []),
                f"WITH (\n{options}\n)",
            ]
        )

    class Builder:
        """A builder of `TableDescriptor`."""

        def __init__(self, connector: str) -> None:
            self._schema: Schema | None = None
            self._options: dict[str, str] = {"connector": connector}
            self._partition_keys: tuple[str, ...] = ()
            self._comment: str | None = None

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Set the schema.

            Args:
                schema: Columns, watermark and primary key; for a sink without one, the columns of the query are used.
            """
            self._schema = schema
            return self

        def option(self, key: str | ConfigOption[Any], value: object) -> TableDescriptor.Builder:
            """Set an option of the connector.

            Args:
                key: The name of the option, or a `ConfigOption`.
                value: The value; it is converted to text.
            """
            self._options[option_key(key)] = option_text(value)
            return self

        def format(
            self,
            format: str | FormatDescriptor,
            format_option: ConfigOption[Any] | None = None,
        ) -> TableDescriptor.Builder:
            """Set the format.

            Args:
                format: The name of a format, or a descriptor with options.
                format_option: The option that names the format, such as `value.format`; by default `format`.
            """
            descriptor = FormatDescriptor(format, {}) if isinstance(format, str) else format
            key = "format" if format_option is None else option_key(format_option)
            self._options[key] = descriptor.get_format()
            prefix = key[: -len("format")] + descriptor.get_format()
            for name, value in descriptor.get_options().items():
                self._options[f"{prefix}.{name}"] = value
            return self

        def partitioned_by(self, *partition_keys: str) -> TableDescriptor.Builder:
            """Set the partition columns.

            Args:
                partition_keys: Names of columns of the schema; they replace those of a former call.
            """
            self._partition_keys = partition_keys
            return self

        def comment(self, comment: str) -> TableDescriptor.Builder:
            """Set the comment.

            Args:
                comment: Text for people; it has no effect.
            """
            self._comment = comment
            return self

        def build(self) -> TableDescriptor:
            """Return the descriptor."""
            return TableDescriptor(self._schema, dict(self._options), self._partition_keys, self._comment)
