"""Statements about models: CREATE, ALTER, DROP, DESCRIBE and SHOW CREATE MODEL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from firesteel.columns.type_text import quoted_path, type_text
from firesteel.common.cases import method_case
from firesteel.common.table_errors import ValidationException
from firesteel.common.types import Row
from firesteel.table.catalogs.catalog_objects import CatalogModel
from firesteel.table.execution.executor import Executor
from firesteel.table.execution.print_style import PrintStyle
from firesteel.table.execution.show_create import create_model_text
from firesteel.table.schema import Schema
from firesteel.table.syntax import statements as s
from firesteel.table.table_parts import columns_of, comment_of, input_schema_of, output_schema_of
from firesteel.table.table_result import TableResult, ok, texts
from firesteel.table.types import DataTypes, RowType

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager


class ModelExecutor(Executor):
    """The executor of statements that create, change and drop models.

    Args:
        catalogs: All catalogs.
    """

    def __init__(self, catalogs: CatalogManager) -> None:
        self._models = catalogs.models

    def _create(self, statement: s.CreateModel) -> TableResult:
        model = CatalogModel(
            Schema(statement.inputs), Schema(statement.outputs), dict(statement.options), statement.comment
        )
        self._models.add(statement.path, model, statement.is_temporary, statement.if_not_exists)
        return ok()

    def _drop(self, statement: s.DropModel) -> TableResult:
        self._models.drop(statement.path, statement.is_temporary, statement.if_exists)
        return ok()

    def _alter(self, statement: s.AlterModel) -> TableResult:
        model = self._models.stored(statement.path, statement.if_exists)
        if model is None:
            return ok()
        if statement.action == "RENAME":
            self._models.rename(statement.path, statement.value)
            return ok()
        if not statement.value:
            kind = "option" if statement.action == "SET" else "key"
            raise ValidationException(f"ALTER MODEL {statement.action} does not support empty {kind}.")
        options = model.get_options()
        if statement.action == "SET":
            options |= dict(statement.value)
        else:
            options = {key: value for key, value in options.items() if key not in statement.value}
        changed = CatalogModel(input_schema_of(model), output_schema_of(model), options, comment_of(model))
        self._models.replace(statement.path, changed)
        return ok()

    rules: ClassVar[dict[type, Callable[[ModelExecutor, object], TableResult]]] = dict(
        [
            method_case(s.CreateModel, _create),
            method_case(s.DropModel, _drop),
            method_case(s.AlterModel, _alter),
        ]
    )


def describe_model(catalogs: CatalogManager, path: tuple[str, ...]) -> TableResult:
    """Return the columns of a model, with comments if a column has one.

    Raises:
        ValidationException: there is no such model.
    """
    model = catalogs.models.find(path)
    if model is None:
        name = ".".join(catalogs.qualify(path))
        raise ValidationException(f"Model with the identifier '{name}' doesn't exist.")
    sides = ((input_schema_of(model), True), (output_schema_of(model), False))
    columns = [(column, is_input) for schema, is_input in sides for column in columns_of(schema)]
    rows = [
        [c.name, type_text(c.declared_type.nullable()), c.declared_type.is_nullable, is_input]
        for c, is_input in columns
    ]
    kinds: dict[str, Any] = {"name": DataTypes.STRING(), "type": DataTypes.STRING()}
    kinds |= {"null": DataTypes.BOOLEAN(), "is input": DataTypes.BOOLEAN()}
    if any(column.comment for column, _ in columns):
        kinds["comment"] = DataTypes.STRING()
        rows = [[*row, column.comment] for row, (column, _) in zip(rows, columns, strict=True)]
    row_type = RowType([DataTypes.FIELD(name, kind) for name, kind in kinds.items()])
    return TableResult(row_type, [Row(*row) for row in rows], style=PrintStyle.WIDE)


def show_create_model(catalogs: CatalogManager, path: tuple[str, ...]) -> TableResult:
    """Return the CREATE MODEL statement of a model.

    Raises:
        ValidationException: there is no such model.
    """
    model, qualified = catalogs.models.find(path), catalogs.qualify(path)
    if model is None:
        name = quoted_path(qualified)
        raise ValidationException(f"Could not execute SHOW CREATE MODEL. Model with identifier {name} does not exist.")
    text = create_model_text(model, qualified, catalogs.models.is_temporary(path))
    return texts("result", [text], PrintStyle.RAW)
