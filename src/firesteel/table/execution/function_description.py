"""The rows of DESCRIBE FUNCTION. Flink: `DescribeFunctionOperation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.columns.functions.aggregates import Aggregate
from firesteel.columns.functions.function import Function
from firesteel.columns.type_text import quoted_path, type_text
from firesteel.common.table_errors import ValidationException
from firesteel.common.values.java_text import boolean_text
from firesteel.table.functions.udf_wrappers import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedAsyncScalarFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager


def described_function(catalogs: CatalogManager, path: tuple[str, ...], extended: bool) -> list[list[Any]]:
    """Return the description of a function as pairs of a name and a value.

    Args:
        catalogs: Knows all functions.
        path: The function as it was written.
        extended: Whether to add its kind and signature.

    Raises:
        ValidationException: there is no such function, or it can't be loaded.
    """
    found = catalogs.functions.entry(path)
    if found is None:
        name = quoted_path(path)
        raise ValidationException(f"Function with the identifier '{name}' doesn't exist.")
    rows = [["is system function", boolean_text(found.is_system)], ["is temporary", boolean_text(found.is_temporary)]]
    if found.declared is not None:
        rows += [
            ["class name", found.declared.get_class_name()],
            ["function language", found.declared.get_function_language().upper()],
            ["resource uris", "[]"],
        ]
    if not extended:
        return rows
    name = path[-1] if found.is_system else ".".join(catalogs.qualify(path))
    rows += [
        ["kind", _kind(found.function)],
        ["requirements", "[]"],
        ["is deterministic", boolean_text(getattr(found.function, "deterministic", True))],
        ["supports constant folding", "true"],
    ]
    signature = _signature(found.function, name)
    return [*rows, ["signature", signature]] if signature else rows


def _kind(function: object) -> str:
    if isinstance(function, UserDefinedAggregateFunctionWrapper):
        return "TABLE_AGGREGATE" if function.is_table_aggregate else "AGGREGATE"
    if isinstance(function, UserDefinedTableFunctionWrapper):
        return "TABLE"
    if isinstance(function, UserDefinedAsyncScalarFunctionWrapper):
        return "ASYNC_SCALAR"
    return "AGGREGATE" if isinstance(function, Aggregate) else "SCALAR"


def _signature(function: Function | Aggregate | UserDefinedFunctionWrapper, name: str) -> str:
    """Return the arguments of a function; empty for a built-in one, whose arguments have no declared types."""
    if not isinstance(function, UserDefinedFunctionWrapper):
        return ""
    if function.input_types is None:
        return f"{name}(*)"
    types = [type_text(kind.nullable()) for kind in function.input_types]
    return f"{name}({', '.join(f'arg{index} => {text}' for index, text in enumerate(types))})"
