"""The texts of SHOW CREATE. Flink: `ShowCreateUtil`."""

from __future__ import annotations

from firesteel.columns.type_text import full_type_text, quoted, quoted_path, text_literal
from firesteel.common.table_errors import TableException
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable, CatalogModel
from firesteel.table.expression_functions.expression_text import expression_sql
from firesteel.table.syntax.statements import ColumnDefinition
from firesteel.table.table_parts import (
    columns_of,
    constraint_of,
    input_schema_of,
    output_schema_of,
    primary_key_of,
    watermarks_of,
)


def create_table_text(table: CatalogBaseTable, path: tuple[str, ...], is_temporary: bool) -> str:
    """Return the CREATE TABLE statement of a table."""
    schema = table.schema
    key = set(primary_key_of(schema))
    lines = [f"  {_column(column, column.name in key)}" for column in columns_of(schema)]
    lines += [
        f"  WATERMARK FOR {quoted(mark.column)} AS {expression_sql(mark.expression)}" for mark in watermarks_of(schema)
    ]
    if key:
        columns = ", ".join(map(quoted, primary_key_of(schema)))
        lines.append(f"  CONSTRAINT {quoted(constraint_of(schema) or '')} PRIMARY KEY ({columns}) NOT ENFORCED")
    text = f"CREATE {'TEMPORARY ' if is_temporary else ''}TABLE {quoted_path(path)} (\n" + ",\n".join(lines) + "\n)\n"
    if table.comment is not None:
        text += f"COMMENT {text_literal(table.comment)}\n"
    if table.distribution is not None:
        text += _distribution(table.distribution) + "\n"
    if table.partition_keys:
        text += f"PARTITIONED BY ({', '.join(map(quoted, table.partition_keys))})\n"
    return text + _options(table.options)


def create_view_text(view: CatalogBaseTable, path: tuple[str, ...], is_temporary: bool) -> str:
    """Return the CREATE VIEW statement of a view.

    Raises:
        TableException: the view is a table of the Table API, which has no text.
    """
    if view.view_schema is not None:
        raise TableException("SHOW CREATE VIEW is not supported for views registered by Table API.")
    columns = ",\n".join(f"  {quoted(column.name)}" for column in columns_of(view.schema))
    comment = f"COMMENT {text_literal(view.comment)}\n" if view.comment else ""
    create = f"CREATE {'TEMPORARY ' if is_temporary else ''}VIEW {quoted_path(path)}"
    return f"{create} (\n{columns}\n)\n{comment}AS {view.text}\n"


def create_model_text(model: CatalogModel, path: tuple[str, ...], is_temporary: bool) -> str:
    """Return the CREATE MODEL statement of a model."""
    text = f"CREATE {'TEMPORARY ' if is_temporary else ''}MODEL {quoted_path(path)}\n"
    for word, schema in (("INPUT", input_schema_of(model)), ("OUTPUT", output_schema_of(model))):
        columns = ", ".join(_column(column, False) for column in columns_of(schema))
        text += f"{word} ({columns})\n" if columns else ""
    if model.get_comment():
        text += f"COMMENT {text_literal(model.get_comment())}\n"
    return text + _options(model.get_options())


def create_catalog_text(name: str, options: dict[str, str], comment: str | None) -> str:
    """Return the CREATE CATALOG statement of a catalog."""
    text = f"CREATE CATALOG {quoted(name)}\n"
    if comment is not None:
        text += f"COMMENT {text_literal(comment)}\n"
    return text + _options(options)


def _column(column: ColumnDefinition, is_key: bool) -> str:
    text = quoted(column.name)
    if column.expression is not None:
        text += f" AS {expression_sql(column.expression)}"
    else:
        text += f" {full_type_text(column.declared_type.not_null() if is_key else column.declared_type)}"
    if column.is_metadata:
        if column.metadata_key is not None:
            text += f" METADATA FROM {text_literal(column.metadata_key)}"
        else:
            text += " METADATA"
        text += " VIRTUAL" if column.is_virtual else ""
    return text + (f" COMMENT {text_literal(column.comment)}" if column.comment else "")


def _distribution(distribution: object) -> str:
    kind, columns = getattr(distribution, "kind", None), getattr(distribution, "columns", ())
    buckets = getattr(distribution, "buckets", None)
    text = "DISTRIBUTED"
    if columns:
        text += f" BY {kind or ''}({', '.join(map(quoted, columns))})"
    return text + (f" INTO {buckets} BUCKETS" if buckets else "")


def _options(options: dict[str, str]) -> str:
    lines = ",\n".join(f"  {text_literal(key)} = {text_literal(value)}" for key, value in sorted(options.items()))
    return f"WITH (\n{lines}\n)\n" if options else ""
