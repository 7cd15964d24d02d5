"""Conditions as SQL text of databases.

The planner filters the rows again. So a condition may hold for more rows in the database than here, but not for fewer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from firesteel.columns.column_types import (
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    IntegralType,
    TimestampType,
    VarCharType,
)
from firesteel.columns.rex import Call, InputRef, Literal, Rex

_ORDERED: dict[str, tuple[type[DataType], ...]] = {
    "sqlite": (IntegralType, DoubleType),
    "postgresql": (IntegralType, DoubleType, DecimalType, DateType, TimestampType),
    "postgres": (IntegralType, DoubleType, DecimalType, DateType, TimestampType),
    "mysql": (IntegralType, DoubleType, DecimalType, DateType, TimestampType),
    "mariadb": (IntegralType, DoubleType, DecimalType, DateType, TimestampType),
}
"""The types whose values each database compares as SQL here does. SQLite stores other ones as text."""
_EQUATED = (CharType, VarCharType)
"""Types of which only equality is asked for: collations order texts, and may have more of them equal."""
_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">="})


@dataclass(frozen=True, slots=True)
class SqlCondition:
    """The text of a condition, with `?` for each of its parameters."""

    text: str
    parameters: tuple[object, ...] = ()

    @staticmethod
    def joined(word: str, parts: list[SqlCondition]) -> SqlCondition:
        """Return conditions connected by AND or OR."""
        text = f" {word} ".join(part.text for part in parts)
        return SqlCondition(f"({text})", tuple(one for part in parts for one in part.parameters))


@dataclass(frozen=True, slots=True)
class SqlConditions:
    """Makes conditions of a table of a database.

    Args:
        dialect: The kind of the database, as in its address.
        columns: The quoted names of the columns of the table.
    """

    dialect: str
    columns: tuple[str, ...]

    def of(self, rex: Rex) -> SqlCondition | None:
        """Return the text of a condition, None: the database may leave out rows for which it is TRUE."""
        if not isinstance(rex, Call):
            return None
        if rex.function in _COMPARISONS:
            return self._comparison(rex, lambda column: f"{column} {rex.function} ?", rex.function == "=")
        match rex.function:
            case "IN":
                marks = ", ".join("?" * (len(rex.operands) - 1))
                return self._comparison(rex, lambda column: f"{column} IN ({marks})", True)
            case "IS NULL" | "IS NOT NULL":
                return self._test(rex)
            case "AND":
                # What is left out of AND lets more rows through, which the planner filters; of OR it would lose rows.
                known = [found for part in rex.operands if (found := self.of(part)) is not None]
                return SqlCondition.joined("AND", known) if known else None
            case "OR":
                parts = [self.of(part) for part in rex.operands]
                known = [part for part in parts if part is not None]
                return SqlCondition.joined("OR", known) if len(known) == len(parts) else None
        return None

    def _comparison(self, rex: Call, text: Callable[[str], str], is_equation: bool) -> SqlCondition | None:
        column, *constants = rex.operands
        kinds = (*_ORDERED.get(self.dialect, ()), *(_EQUATED if is_equation else ()))
        values = tuple(one.value for one in constants if isinstance(one, Literal) and _is_known(one.value))
        if len(values) < len(constants) or not (isinstance(column, InputRef) and isinstance(column.type, kinds)):
            return None
        return SqlCondition(text(self.columns[column.index]), values)

    def _test(self, rex: Call) -> SqlCondition | None:
        column = rex.operands[0]
        return SqlCondition(f"{self.columns[column.index]} {rex.function}") if isinstance(column, InputRef) else None


def _is_known(value: object) -> bool:
    """Return whether every database has a value: MySQL has no infinity and no NaN."""
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))
