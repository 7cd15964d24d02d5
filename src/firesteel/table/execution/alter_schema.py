"""Changes of schemas by ALTER TABLE. Flink: `AlterSchemaConverter`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from firesteel.common.table_errors import ValidationException
from firesteel.table.expression_functions.expression_summary import definition_text
from firesteel.table.schema import Schema, key_name
from firesteel.table.syntax.statements import ColumnDefinition, WatermarkDefinition
from firesteel.table.syntax.unresolved import Apply, Ref
from firesteel.table.table_parts import columns_of, constraint_of, primary_key_of, watermarks_of

if TYPE_CHECKING:
    from firesteel.table.syntax.statements import AlterItems

_FAILED = "Failed to execute ALTER TABLE statement.\n"


def added(schema: Schema, items: AlterItems) -> Schema:
    """Return a schema with further columns, a watermark or a primary key."""
    columns = list(columns_of(schema))
    watermarks, key, name = watermarks_of(schema), primary_key_of(schema), constraint_of(schema)
    for item, position in items:
        if isinstance(item, WatermarkDefinition):
            if watermarks:
                mark = watermarks[0]
                raise ValidationException(
                    f"{_FAILED}The base table has already defined the watermark strategy `{mark.column}` AS "
                    f"{definition_text(mark)}. "
                    "You might want to drop it before adding a new one."
                )
            watermarks = (item,)
        elif isinstance(item, ColumnDefinition):
            if any(column.name == item.name for column in columns):
                raise ValidationException(
                    f"{_FAILED}Try to add a column `{item.name}` which already exists in the table."
                )
            _insert(columns, item, position)
        else:
            if key:
                raise ValidationException(
                    f"{_FAILED}The base table has already defined the primary key constraint {list(key)}. You might "
                    "want to drop it before adding a new one."
                )
            key, name = item[1], key_name(item[1])
    return Schema(tuple(columns), watermarks, key, name)


def modified(schema: Schema, items: AlterItems) -> Schema:
    """Return a schema with other columns, another watermark or primary key."""
    columns = list(columns_of(schema))
    watermarks, key, name = watermarks_of(schema), primary_key_of(schema), constraint_of(schema)
    for item, position in items:
        if isinstance(item, WatermarkDefinition):
            if not watermarks:
                raise ValidationException(
                    f"{_FAILED}The base table does not define any watermark. You might want to add a new one."
                )
            watermarks = (item,)
        elif isinstance(item, ColumnDefinition):
            _replace(columns, item, position)
        else:
            if not key:
                raise ValidationException(
                    f"{_FAILED}The base table does not define any primary key constraint. You might want to add "
                    f"a new one."
                )
            key, name = item[1], key_name(item[1])
    return Schema(tuple(columns), watermarks, key, name)


def _replace(columns: list[ColumnDefinition], item: ColumnDefinition, position: object) -> None:
    index = next((i for i, column in enumerate(columns) if column.name == item.name), None)
    if index is None:
        raise ValidationException(f"{_FAILED}Try to modify a column `{item.name}` which does not exist in the table.")
    if item.comment is None:
        item = replace(item, comment=columns[index].comment)
    if position is None:
        columns[index] = item
        return
    del columns[index]
    _insert(columns, item, position)


def _insert(columns: list[ColumnDefinition], item: ColumnDefinition, position: Any) -> None:
    if position is None:
        columns.append(item)
    elif position == "FIRST":
        columns.insert(0, item)
    else:
        index = next((i for i, column in enumerate(columns) if column.name == position[1]), None)
        if index is None:
            raise ValidationException(
                f"{_FAILED}Referenced column `{position[1]}` by 'AFTER' does not exist in the table."
            )
        columns.insert(index + 1, item)


def dropped(schema: Schema, names: tuple[str, ...]) -> Schema:
    """Return a schema without some columns, its watermark or its primary key."""
    if names == ("WATERMARK",):
        if not watermarks_of(schema):
            raise ValidationException(f"{_FAILED}The base table does not define any watermark strategy.")
        return Schema(columns_of(schema), (), primary_key_of(schema), constraint_of(schema))
    if names == ("PRIMARY KEY",) or names[0] == "CONSTRAINT":
        if not primary_key_of(schema):
            raise ValidationException(f"{_FAILED}The base table does not define any primary key.")
        if len(names) == 2 and names[1] != constraint_of(schema):
            raise ValidationException(
                f"{_FAILED}The base table does not define a primary key constraint named '{names[1]}'. Available "
                f"constraint name: ['{constraint_of(schema)}']."
            )
        return Schema(columns_of(schema), watermarks_of(schema))
    for name in names:
        _check_column(schema, name)
        _check_unused(schema, name, set(names))
    columns = tuple(column for column in columns_of(schema) if column.name not in names)
    return Schema(columns, watermarks_of(schema), primary_key_of(schema), constraint_of(schema))


def renamed_column(schema: Schema, old: str, new: str) -> Schema:
    """Return a schema whose column has another name."""
    _check_column(schema, old)
    if any(column.name == new for column in columns_of(schema)):
        raise ValidationException(f"{_FAILED}The column `{new}` already existed in table schema.")
    _check_unused(schema, old, {old}, key_may=True)
    columns = tuple(replace(column, name=new) if column.name == old else column for column in columns_of(schema))
    key = tuple(new if name == old else name for name in primary_key_of(schema))
    return Schema(columns, watermarks_of(schema), key, constraint_of(schema))


def _check_column(schema: Schema, name: str) -> None:
    if all(column.name != name for column in columns_of(schema)):
        raise ValidationException(f"{_FAILED}The column `{name}` does not exist in the base table.")


def _check_unused(schema: Schema, name: str, ignored: set[str], key_may: bool = False) -> None:
    users = [
        f"`{column.name}`"
        for column in columns_of(schema)
        if column.name not in ignored and column.expression is not None and name in set(_columns_of(column.expression))
    ]
    if users:
        raise ValidationException(f"{_FAILED}The column `{name}` is referenced by computed column {', '.join(users)}.")
    if name in primary_key_of(schema) and not key_may:
        raise ValidationException(f"{_FAILED}The column `{name}` is used as the primary key.")
    for mark in watermarks_of(schema):
        if name == mark.column or name in set(_columns_of(mark.expression)):
            raise ValidationException(f"{_FAILED}The column `{name}` is referenced by watermark expression.")


def _columns_of(node: object) -> Iterator[str]:
    if isinstance(node, Ref):
        yield node.path[0]
    elif isinstance(node, Apply):
        for operand in node.operands:
            yield from _columns_of(operand)
