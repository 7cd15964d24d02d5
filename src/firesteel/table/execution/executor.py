"""The base of the classes that execute statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from firesteel.table.table_result import TableResult


class Executor:
    """Executes the statements for which it has rules.

    Attributes:
        rules: The method for each class of statements.
    """

    rules: ClassVar[Mapping[type, Callable[[Any, object], TableResult]]]

    def attempt(self, statement: object) -> TableResult | None:
        """Execute a statement; None: it has no rule for it."""
        rule = self.rules.get(type(statement))
        return None if rule is None else rule(self, statement)
