"""Calls in expressions as text: `b.sum`, `a.cast(INT)`, `concat(a, 'x')`, `10.minutes`, `sum(a) over w`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Protocol, TypeVar

from firesteel.pyflink1.tables.text_expressions.reader import TokenReader
from firesteel.pyflink1.tables.text_expressions.special_calls import INTERVALS, PROPERTIES, SPECIAL_CALLS, UNIT_CALLS
from firesteel.pyflink1.tables.text_expressions.text_types import take_type
from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.expression_functions.expression_enums import TimeIntervalUnit, TimePointUnit
from firesteel.table.expressions import call, col, if_then_else, timestamp_diff
from firesteel.table.syntax.unresolved import Apply
from firesteel.table.table import Table
from firesteel.table.types import DataType

_Expression = Expression[object]
_Enum = TypeVar("_Enum", bound=Enum)

_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_TRIM_MODES = {"leading": "trim_leading", "trailing": "trim_trailing", "both": "trim"}


class Names(Protocol):
    """The names that an environment knows."""

    def table(self, name: str) -> Table | None:
        """Return the table that an argument of `in` names, or None."""

    def is_function(self, name: str) -> bool:
        """Return whether there is a user-defined function of this name."""


class CallParser(ABC):
    """The parser of calls, before and after a point.

    Args:
        reader: The tokens.
        names: The tables and functions of the environment; None for none.
    """

    def __init__(self, reader: TokenReader, names: Names | None = None) -> None:
        self._reader = reader
        self._names = names

    @abstractmethod
    def expressions(self) -> list[_Expression]:
        """Take expressions that are separated by commas."""

    @abstractmethod
    def expression(self) -> _Expression:
        """Take an expression."""

    # --- parts of calls ----------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        """Take names in parentheses."""
        self._reader.expect("(")
        found = [self._reader.name()]
        while self._reader.accept(","):
            found.append(self._reader.name())
        self._reader.expect(")")
        return found

    def type_argument(self) -> DataType:
        """Take a type in parentheses."""
        self._reader.expect("(")
        found = take_type(self._reader)
        self._reader.expect(")")
        return found

    def conditional(self) -> _Expression:
        """Return `?(condition, a, b)`, whose first token was taken."""
        condition, if_true, if_false = self._exactly(3)
        return if_then_else(condition, if_true, if_false)

    def _arguments(self) -> list[_Expression]:
        """Take the arguments in parentheses; a call without arguments may be without them."""
        if not self._reader.accept("("):
            return []
        found = [] if self._reader.at(")") else self.expressions()
        self._reader.expect(")")
        return found

    def _exactly(self, count: int) -> list[_Expression]:
        error = self._reader.error(f"{count} arguments expected")
        found = self._arguments()
        if len(found) != count:
            raise error
        return found

    def _unit(self, units: type[_Enum]) -> _Enum:
        error = self._reader.error(f"one of {', '.join(units.__members__)} expected")
        found = units.__members__.get(self._reader.name().upper())
        if found is None:
            raise error
        return found

    # --- calls before parentheses ------------------------------------------------------------------------------------

    def prefix_call(self) -> _Expression:
        """Take `name(arguments)`."""
        name = self._reader.name()
        special = name.lower()
        if special in ("cast", "as", "trim", "extract", "timestampdiff", *UNIT_CALLS):
            return self._prefix_special(special)
        return self._named_call(name, self._arguments())

    def _prefix_special(self, name: str) -> _Expression:
        """Take the arguments of a call, of which some are types, units or names."""
        self._reader.expect("(")
        if name == "trim" and self._reader.at_word(*_TRIM_MODES):
            found = self._trim_of()
        elif name == "timestampdiff":
            found = self._timestamp_diff()
        else:
            found = self._with_operand(name, self.expression())
        self._reader.expect(")")
        return found

    def _with_operand(self, name: str, operand: _Expression) -> _Expression:
        if name == "trim" or (name in UNIT_CALLS and name != "extract" and not self._reader.at(",")):
            return call(name, operand)
        self._reader.expect(",")
        if name == "cast":
            return operand.cast(take_type(self._reader))
        if name == "as":
            return operand.alias(*self._more_names())
        return UNIT_CALLS[name](operand, self._unit(TimeIntervalUnit))

    def _more_names(self) -> list[str]:
        found = [self._reader.name()]
        while self._reader.accept(","):
            found.append(self._reader.name())
        return found

    def _trim_of(self) -> _Expression:
        mode = _TRIM_MODES[self._reader.name().lower()]
        self._reader.expect(",")
        character = self.expression()
        self._reader.expect(",")
        return _trimmed(self.expression(), mode, character)

    def _timestamp_diff(self) -> _Expression:
        unit = self._unit(TimePointUnit)
        self._reader.expect(",")
        first = self.expression()
        self._reader.expect(",")
        return timestamp_diff(unit, first, self.expression())

    def at_distinct_call(self) -> bool:
        """Return whether `name.distinct(...)` follows with arguments."""
        texts = [self._reader.ahead(count).text for count in range(1, 5)]
        return texts[0] == "." and texts[1].lower() == "distinct" and texts[2] == "(" and texts[3] != ")"

    def distinct_call(self) -> _Expression:
        """Take `name.distinct(arguments)`, a call over distinct values."""
        name = self._reader.name()
        self._reader.take()
        self._reader.take()
        node = node_of(call(name, *self._arguments()))
        assert isinstance(node, Apply)
        return Expression(replace(node, distinct=True))

    # --- calls after a point -----------------------------------------------------------------------------------------

    def suffixes(self, operand: _Expression) -> _Expression:
        """Take all calls after an expression, and `over`."""
        while True:
            if self._reader.accept("."):
                operand = self._suffix(operand)
            elif self._reader.at_word("over") and self._reader.ahead().kind == "name":
                self._reader.take()
                operand = operand.over(col(self._reader.name()))
            else:
                return operand

    def _suffix(self, operand: _Expression) -> _Expression:
        if self._reader.accept("?"):
            if_true, if_false = self._exactly(2)
            return operand.then(if_true, if_false)
        name = self._reader.name()
        special, is_call = name.lower(), self._reader.at("(")
        if special in INTERVALS and not is_call:
            return INTERVALS[special](operand)
        if is_call and special in ("cast", "as"):
            return operand.cast(self.type_argument()) if special == "cast" else operand.alias(*self.names())
        if is_call and special == "trim" and self._reader.ahead().text.lower() in _TRIM_MODES:
            return self._suffix_trim(operand)
        if special in UNIT_CALLS and is_call and self._reader.ahead().text != ")":
            return self._suffix_unit(special, operand)
        if special == "in" and (table := self._table_argument()) is not None:
            return operand.in_(table)
        if special == "log":
            return operand.log(*self._arguments())
        return self._named_call(name, [operand, *self._arguments()])

    def _suffix_trim(self, operand: _Expression) -> _Expression:
        self._reader.take()
        mode = _TRIM_MODES[self._reader.name().lower()]
        self._reader.expect(",")
        character = self.expression()
        self._reader.expect(")")
        return _trimmed(operand, mode, character)

    def _suffix_unit(self, name: str, operand: _Expression) -> _Expression:
        self._reader.expect("(")
        unit = self._unit(TimeIntervalUnit)
        self._reader.expect(")")
        return UNIT_CALLS[name](operand, unit)

    def _table_argument(self) -> Table | None:
        """Take the only argument of `in` if it is the name of a table."""
        reader = self._reader
        if self._names is None or reader.ahead().kind != "name" or reader.ahead(2).text != ")":
            return None
        table = self._names.table(reader.ahead().text)
        if table is not None:
            self.names()
        return table

    # --- functions ---------------------------------------------------------------------------------------------------

    def _named_call(self, name: str, operands: Sequence[_Expression]) -> _Expression:
        """Return the call of a function: one of the user, else a built-in one by its name in Java or SQL."""
        special = name.lower()
        if self._names is not None and self._names.is_function(name):
            return call(name, *operands)
        try:
            if special in PROPERTIES:
                return PROPERTIES[special](*operands)
            made = SPECIAL_CALLS[special](*operands) if special in SPECIAL_CALLS else _built_in_call(name, operands)
        except (TypeError, ValueError) as error:
            raise self._reader.error(f"{name}() does not take these arguments ({error})") from error
        assert isinstance(made, Expression)
        return made


def _built_in_call(name: str, operands: Sequence[_Expression]) -> object:
    """Return the call of a method of expressions by its name in Java, such as `charLength`, else by its name in SQL."""
    method = _WORD.sub("_", name).lower()
    if not operands or not hasattr(Expression, method) or method == "log":
        return call(name, *operands)
    found = getattr(operands[0], method)
    return found if isinstance(found, Expression) else found(*operands[1:])


def _trimmed(operand: _Expression, mode: str, character: _Expression) -> _Expression:
    if mode == "trim_leading":
        return operand.trim_leading(character)
    return operand.trim_trailing(character) if mode == "trim_trailing" else operand.trim(character)
