"""Tables and SQL (package as `pyflink.table`).

Names are imported when first used: subtasks need parts of this package, but neither the API nor the planner, which
take half a second to import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from firesteel.common.types import Row, RowKind
    from firesteel.table.changelog_mode import ChangelogMode
    from firesteel.table.compiled_plan import CompiledPlan
    from firesteel.table.data_view import DataView, ListView, MapView
    from firesteel.table.environment_settings import EnvironmentSettings
    from firesteel.table.explain_detail import ExplainDetail
    from firesteel.table.expression import Expression
    from firesteel.table.module import Module, ModuleEntry
    from firesteel.table.plan_reference import PlanReference
    from firesteel.table.result_kind import ResultKind
    from firesteel.table.schema import Schema
    from firesteel.table.sql_dialect import SqlDialect
    from firesteel.table.statement_set import StatementSet
    from firesteel.table.table import GroupedTable, GroupWindowedTable, OverWindowedTable, Table, WindowGroupedTable
    from firesteel.table.table_config import TableConfig
    from firesteel.table.table_descriptor import FormatDescriptor, TableDescriptor
    from firesteel.table.table_environment import StreamTableEnvironment, TableEnvironment
    from firesteel.table.table_pipeline import TablePipeline
    from firesteel.table.table_result import TableResult
    from firesteel.table.table_schema import TableSchema
    from firesteel.table.types import DataTypes, UserDefinedType
    from firesteel.table.udf import (
        AggregateFunction,
        AsyncScalarFunction,
        FunctionContext,
        ScalarFunction,
        TableAggregateFunction,
        TableFunction,
    )

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "ChangelogMode",
    "CompiledPlan",
    "DataTypes",
    "DataView",
    "EnvironmentSettings",
    "ExplainDetail",
    "Expression",
    "FormatDescriptor",
    "FunctionContext",
    "GroupWindowedTable",
    "GroupedTable",
    "ListView",
    "MapView",
    "Module",
    "ModuleEntry",
    "OverWindowedTable",
    "PlanReference",
    "ResultKind",
    "Row",
    "RowKind",
    "ScalarFunction",
    "Schema",
    "SqlDialect",
    "StatementSet",
    "StreamTableEnvironment",
    "Table",
    "TableAggregateFunction",
    "TableConfig",
    "TableDescriptor",
    "TableEnvironment",
    "TableFunction",
    "TablePipeline",
    "TableResult",
    "TableSchema",
    "UserDefinedType",
    "WindowGroupedTable",
]

_MODULES = {
    "firesteel.common.types": (
        "Row",
        "RowKind",
    ),
    "firesteel.table.changelog_mode": ("ChangelogMode",),
    "firesteel.table.compiled_plan": ("CompiledPlan",),
    "firesteel.table.data_view": (
        "DataView",
        "ListView",
        "MapView",
    ),
    "firesteel.table.environment_settings": ("EnvironmentSettings",),
    "firesteel.table.explain_detail": ("ExplainDetail",),
    "firesteel.table.expression": ("Expression",),
    "firesteel.table.module": (
        "Module",
        "ModuleEntry",
    ),
    "firesteel.table.plan_reference": ("PlanReference",),
    "firesteel.table.result_kind": ("ResultKind",),
    "firesteel.table.schema": ("Schema",),
    "firesteel.table.sql_dialect": ("SqlDialect",),
    "firesteel.table.statement_set": ("StatementSet",),
    "firesteel.table.table": (
        "GroupedTable",
        "GroupWindowedTable",
        "OverWindowedTable",
        "Table",
        "WindowGroupedTable",
    ),
    "firesteel.table.table_config": ("TableConfig",),
    "firesteel.table.table_descriptor": (
        "FormatDescriptor",
        "TableDescriptor",
    ),
    "firesteel.table.table_environment": (
        "StreamTableEnvironment",
        "TableEnvironment",
    ),
    "firesteel.table.table_pipeline": ("TablePipeline",),
    "firesteel.table.table_result": ("TableResult",),
    "firesteel.table.table_schema": ("TableSchema",),
    "firesteel.table.types": (
        "DataTypes",
        "UserDefinedType",
    ),
    "firesteel.table.udf": (
        "AggregateFunction",
        "AsyncScalarFunction",
        "FunctionContext",
        "ScalarFunction",
        "TableAggregateFunction",
        "TableFunction",
    ),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a public name."""
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
