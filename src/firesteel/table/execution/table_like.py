"""CREATE TABLE ... LIKE: the merge of a declaration with another table. Flink: `MergeTableLikeUtil`."""

from __future__ import annotations

from typing import Any

from firesteel.common.table_errors import ValidationException
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable
from firesteel.table.schema import Schema
from firesteel.table.syntax.statements import ColumnDefinition
from firesteel.table.table_parts import columns_of, constraint_of, primary_key_of, watermarks_of

_DEFAULTS = {
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "PARTITIONS": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
    "WATERMARKS": "INCLUDING",
    "OPTIONS": "OVERWRITING",
}
_OVERWRITABLE = ("GENERATED", "METADATA", "OPTIONS", "WATERMARKS")


def merge_like(
    table: CatalogBaseTable, source: CatalogBaseTable, clauses: tuple[tuple[str, str], ...]
) -> CatalogBaseTable:
    """Return a table merged with parts of another one according to the clauses.

    Args:
        table: The table that CREATE TABLE declares.
        source: The table after LIKE.
        clauses: Pairs such as `("INCLUDING", "ALL")`.

    Raises:
        ValidationException: both tables declare the same, or a clause does not exist.
    """
    modes = _modes(clauses)
    columns = _columns(table, source, modes)
    watermarks = _watermarks(table, source, modes["WATERMARKS"])
    key, name = primary_key_of(table.schema), constraint_of(table.schema)
    if modes["CONSTRAINTS"] == "INCLUDING" and primary_key_of(source.schema):
        if key:
            raise ValidationException(
                "The base table already has a primary key. You might want to specify EXCLUDING CONSTRAINTS."
            )
        key, name = primary_key_of(source.schema), constraint_of(source.schema)
    return CatalogBaseTable(
        Schema(columns, watermarks, key, name),
        _options(table, source, modes["OPTIONS"]),
        _taken(table.partition_keys, source.partition_keys, modes["PARTITIONS"], "partitions", "PARTITIONS") or (),
        table.comment,
        distribution=_taken(
            table.distribution, source.distribution, modes["DISTRIBUTION"], "a distribution", "DISTRIBUTION"
        ),
    )


def _modes(clauses: tuple[tuple[str, str], ...]) -> dict[str, str]:
    modes = dict(_DEFAULTS)
    for mode, feature in clauses:
        if feature == "ALL":
            modes.update(dict.fromkeys(modes, "EXCLUDING" if mode == "EXCLUDING" else "INCLUDING"))
    for mode, feature in clauses:
        if feature == "ALL":
            continue
        if feature not in modes or (mode == "OVERWRITING" and feature not in _OVERWRITABLE):
            raise ValidationException(f"Illegal merging strategy '{mode}' for '{feature}' option.")
        modes[feature] = mode
    return modes


def _columns(table: CatalogBaseTable, source: CatalogBaseTable, modes: dict[str, str]) -> tuple[ColumnDefinition, ...]:
    found = {
        column.name: column
        for column in columns_of(source.schema)
        if _feature(column) is None or modes[_feature(column) or ""] != "EXCLUDING"
    }
    for column in columns_of(table.schema):
        feature = _feature(column)
        before = found.get(column.name)
        if before is not None:
            if feature is None or _feature(before) != feature:
                raise ValidationException(f"A column named '{column.name}' already exists in the base table.")
            if modes[feature] != "OVERWRITING":
                raise ValidationException(
                    f"A {'generated' if feature == 'GENERATED' else 'metadata'} column named '{column.name}' already "
                    f"exists in the base table. You might want to specify EXCLUDING {feature} or OVERWRITING {feature}."
                )
        found[column.name] = column
    return tuple(found.values())


def _feature(column: ColumnDefinition) -> str | None:
    if column.expression is not None:
        return "GENERATED"
    return "METADATA" if column.is_metadata else None


def _watermarks(table: CatalogBaseTable, source: CatalogBaseTable, mode: str) -> tuple[Any, ...]:
    own, others = watermarks_of(table.schema), watermarks_of(source.schema)
    if mode == "EXCLUDING" or not others:
        return own
    if not own:
        return others
    if mode == "INCLUDING" and own[0].column == others[0].column:
        raise ValidationException(
            f"There already exists a watermark spec for column '{own[0].column}' in the base table. You might want to "
            "specify EXCLUDING WATERMARKS or OVERWRITING WATERMARKS."
        )
    kept = tuple(mark for mark in others if mark.column not in {mark.column for mark in own})
    return (*kept, *own)


def _options(table: CatalogBaseTable, source: CatalogBaseTable, mode: str) -> dict[str, str]:
    if mode == "EXCLUDING":
        return table.options
    common = [key for key in table.options if key in source.options]
    if mode == "INCLUDING" and common:
        raise ValidationException(
            f"There already exists an option ['{common[0]}' -> '{source.options[common[0]]}']  in the base table. You "
            "might want to specify EXCLUDING OPTIONS or OVERWRITING OPTIONS."
        )
    return {**source.options, **table.options}


def _taken(own: object, others: object, mode: str, what: str, feature: str) -> Any:
    if mode == "EXCLUDING" or not others:
        return own
    if own:
        raise ValidationException(
            f"The base table already has {what} defined. You might want to specify EXCLUDING {feature}."
        )
    return others
