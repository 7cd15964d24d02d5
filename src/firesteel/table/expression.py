"""Expressions of the Table API (module as `pyflink.table.expression`)."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from firesteel.table.expression_functions.expression_collections import BitmapMethods, CollectionMethods
from firesteel.table.expression_functions.expression_enums import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from firesteel.table.expression_functions.expression_json import JsonMethods
from firesteel.table.expression_functions.expression_logic import LogicMethods, Operators
from firesteel.table.expression_functions.expression_numbers import AggregateMethods, NumberMethods
from firesteel.table.expression_functions.expression_strings import StringMethods
from firesteel.table.expression_functions.expression_summary import expression_summary
from firesteel.table.expression_functions.expression_time import TimeMethods
from firesteel.table.syntax.unresolved import Alias, Apply, Lit, Unresolved

__all__ = [
    "Expression",
    "JsonExistsOnError",
    "JsonOnNull",
    "JsonQueryOnEmptyOrError",
    "JsonQueryWrapper",
    "JsonType",
    "JsonValueOnEmptyOrError",
    "TimeIntervalUnit",
    "TimePointUnit",
]

T = TypeVar("T")


class Expression(
    Operators,
    LogicMethods,
    NumberMethods,
    AggregateMethods,
    StringMethods,
    CollectionMethods,
    BitmapMethods,
    TimeMethods,
    JsonMethods,
    Generic[T],
):
    """An expression over columns: a column, a constant, or a call of a function (Flink: `Expression`).

    It has no type until a table resolves it.

    Functions such as `col`, `lit` and `call`, and operations on expressions, return it.

    Example:
        >>> from firesteel.table.expressions import col
        >>> str(col("a") + 1)
        'plus(a, 1)'
    """

    def __init__(self, node: Unresolved) -> None:
        self._node = node

    def _wrap(self, node: Unresolved) -> Expression[Any]:
        return Expression(node)

    def alias(self, name: str, *extra_names: str) -> Expression[T]:
        """Name the column, or the columns of a table function.

        Args:
            name: Name of the column, or of the first column of a table function.
            extra_names: Names of the other columns of a table function.
        """
        return Expression(Alias(self._node, (name, *extra_names)))

    def as_argument(self, name: str) -> Expression[Any]:
        """Pass the value as the named argument of a function.

        Args:
            name: Name of the parameter in the signature of the function.
        """
        return Expression(Apply("=>", (Lit(name), self._node)))

    def __getattr__(self, name: str) -> Expression[Any]:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name)

    def __str__(self) -> str:
        return expression_summary(self._node)

    def __repr__(self) -> str:
        return f"Expression<{self}>"


class SqlExpression(Expression[T]):
    """An expression written in SQL, which is shown by its text (Flink: `SqlCallExpression`).

    Args:
        node: The parsed expression.
        text: The SQL text.
    """

    def __init__(self, node: Unresolved, text: str) -> None:
        super().__init__(node)
        self.text = text

    def __str__(self) -> str:
        return f"[{self.text}]"
