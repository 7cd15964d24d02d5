"""Calls with special syntax: CAST, EXTRACT, TRIM, CASE, JSON functions and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from firesteel.table.planner.parse.token_reader import TokenReader
from firesteel.table.syntax.queries import Query
from firesteel.table.syntax.unresolved import Apply, Lit, Ordering, Position, Subquery, TypeName, Unresolved

JSON_OPTION = "JSON OPTION"
"""The pseudo function that represents a clause of a JSON function: its operands are name and values."""


class SpecialCalls(TokenReader):
    """A parser of calls with special syntax."""

    expression: Callable[[], Unresolved]
    sum: Callable[[], Unresolved]
    query: Callable[[], Query]
    behind_call: Callable[[Apply], Unresolved]
    ordering: Callable[[], Ordering]

    def special_call(self, word: str) -> Unresolved | None:
        """Take the call that begins with this word; None: it has no syntax of its own."""
        if word == "CASE":
            return self._case()
        if word == "EXISTS":
            return self._exists()
        parse = self._special.get(word)
        follower = self.ahead().text
        if parse is None or follower != ("[" if word in ("ARRAY", "MAP") else "("):
            return self._nested_array(word, follower)
        position = self.position()
        self.next()
        self.next()
        return parse(self, word, position)

    def _nested_array(self, word: str, follower: str) -> Unresolved | None:
        """`ARRAY(...)`, `MAP(...)` and `MULTISET(...)` take a query."""
        if word not in ("ARRAY", "MAP", "MULTISET") or follower != "(":
            return None
        self.next()
        self.expect("(")
        query = self.query()
        self.expect(")")
        return Subquery(word, query)

    def _case(self) -> Unresolved:
        position = self.position()
        self.expect("CASE")
        subject = None if self.at("WHEN") else self.expression()
        operands: list[Unresolved] = []
        while self.accept("WHEN"):
            conditions = self.comma_list(self.expression) if subject is not None else (self.expression(),)
            if subject is not None:
                conditions = tuple(Apply("=", (subject, value), position=position) for value in conditions)
            condition = conditions[0]
            for other in conditions[1:]:
                condition = Apply("OR", (condition, other), position=position)
            self.expect("THEN")
            operands += [condition, self.expression()]
        operands.append(self.expression() if self.accept("ELSE") else Lit(None))
        self.expect("END")
        return Apply("CASE", tuple(operands), position=position)

    def _exists(self) -> Unresolved:
        self.expect("EXISTS", "(")
        query = self.query()
        self.expect(")")
        return Subquery("EXISTS", query)

    def _cast(self, word: str, position: Position) -> Unresolved:
        value = self.expression()
        self.expect("AS")
        target = TypeName(self.type())
        self.expect(")")
        return Apply(word, (value, target), position=position)

    def _extract(self, word: str, position: Position) -> Unresolved:
        unit = self.next().text.upper()
        self.expect("FROM")
        value = self.expression()
        self.expect(")")
        return Apply("EXTRACT", (Lit(unit), value), position=position)

    def _floor(self, word: str, position: Position) -> Unresolved:
        value = self.expression()
        operands = (value, Lit(self.next().text.upper())) if self.accept("TO") else (value,)
        self.expect(")")
        return Apply("CEIL" if word == "CEILING" else word, operands, position=position)

    def _trim(self, word: str, position: Position) -> Unresolved:
        mode = self.accept_any("BOTH", "LEADING", "TRAILING")
        characters: Unresolved = Lit(" ")
        if not self.at("FROM"):
            characters = self.expression()
            if mode is None and not self.at("FROM"):
                self.expect(")")
                return Apply("TRIM", (Lit("BOTH"), Lit(" "), characters), position=position)
        self.expect("FROM")
        value = self.expression()
        self.expect(")")
        return Apply("TRIM", (Lit(mode or "BOTH"), characters, value), position=position)

    def _substring(self, word: str, position: Position) -> Unresolved:
        operands = [self.expression()]
        while self.accept(",") or self.accept("FROM") or self.accept("FOR"):
            operands.append(self.expression())
        self.expect(")")
        return Apply(word, tuple(operands), position=position)

    def _position(self, word: str, position: Position) -> Unresolved:
        needle = self.sum()
        self.expect("IN")
        operands = [needle, self.sum()]
        if self.accept("FROM"):
            operands.append(self.sum())
        self.expect(")")
        return Apply("POSITION", tuple(operands), position=position)

    def _overlay(self, word: str, position: Position) -> Unresolved:
        operands = [self.expression()]
        while self.accept(",") or self.accept("PLACING") or self.accept("FROM") or self.accept("FOR"):
            operands.append(self.expression())
        self.expect(")")
        return Apply("OVERLAY", tuple(operands), position=position)

    def _unit_first(self, word: str, position: Position) -> Unresolved:
        unit = self.next().text.upper()
        self.expect(",")
        rest = self.comma_list(self.expression)
        self.expect(")")
        return Apply(word, (Lit(unit.removeprefix("SQL_TSI_")), *rest), position=position)

    def _array_constructor(self, word: str, position: Position) -> Unresolved:
        operands = () if self.at("]") else self.comma_list(self.expression)
        self.expect("]")
        return Apply(word, operands, position=position)

    def _row_constructor(self, word: str, position: Position) -> Unresolved:
        operands = self.comma_list(self.expression)
        self.expect(")")
        return Apply("ROW", operands, position=position)

    def _grouping(self, word: str, position: Position) -> Unresolved:
        operands = self.comma_list(self.expression)
        self.expect(")")
        return Apply(word, operands, position=position)

    def _json(self, word: str, position: Position) -> Unresolved:
        """JSON_VALUE, JSON_QUERY and JSON_EXISTS: input, path, then the clauses as options."""
        operands = list(self.comma_list(self.expression))
        while not self.at(")"):
            operands.append(self._json_clause())
        self.expect(")")
        return Apply(word, tuple(operands), position=position)

    def _json_clause(self) -> Apply:
        if self.accept("RETURNING"):
            return Apply(JSON_OPTION, (Lit("RETURNING"), TypeName(self.type())))
        if self.at("WITH") or self.at("WITHOUT"):
            words = [self.next().upper]
            while not self.at("WRAPPER"):
                words.append(self.next().upper)
            self.next()
            return Apply(JSON_OPTION, (Lit("WRAPPER"), Lit(" ".join(word for word in words if word != "ARRAY"))))
        default = None
        if self.accept("DEFAULT"):
            behaviour, default = "DEFAULT", self.expression()
        else:
            behaviour = self.next().upper
            if behaviour == "EMPTY":
                behaviour += f" {self.next().upper}"
        self.expect("ON")
        event = self.accept_any("EMPTY", "ERROR")
        if event is None:
            self.fail("EMPTY", "ERROR")
        return Apply(JSON_OPTION, (Lit(event), Lit(behaviour), *(() if default is None else (default,))))

    def _json_object(self, word: str, position: Position) -> Unresolved:
        """Parse JSON_OBJECT and JSON_OBJECTAGG: alternating keys and values, then the NULL clause."""
        operands: list[Unresolved] = []
        while not self.at(")") and not self._at_on_null():
            operands += self._json_pair()
            if not self.accept(","):
                break
        return self._json_end(word, operands, "NULL", position)

    def _json_pair(self) -> list[Unresolved]:
        self.accept("KEY")
        key = self.sum()
        if not (self.accept("VALUE") or self.accept(":")):
            self.expect(",")
        return [key, self.expression()]

    def _json_array(self, word: str, position: Position) -> Unresolved:
        """Parse JSON_ARRAY and JSON_ARRAYAGG: values, then the NULL clause."""
        operands: list[Unresolved] = []
        if not self.at(")") and not self._at_on_null():
            operands = list(self.comma_list(self.expression))
        ordered = word == "JSON_ARRAYAGG" and self.accept("ORDER", "BY")
        order_by = self.comma_list(self.ordering) if ordered else ()
        return self._json_end(word, operands, "ABSENT", position, order_by)

    def _at_on_null(self) -> bool:
        return self.at("NULL", "ON", "NULL") or self.at("ABSENT", "ON", "NULL")

    def _json_end(
        self,
        word: str,
        operands: list[Unresolved],
        default: str,
        position: Position,
        order_by: tuple[Ordering, ...] = (),
    ) -> Unresolved:
        on_null = default
        if self._at_on_null():
            on_null = self.next().upper
            self.expect("ON", "NULL")
        self.expect(")")
        option = Apply(JSON_OPTION, (Lit("ON NULL"), Lit(on_null)))
        return self.behind_call(Apply(word, (*operands, option), order_by=order_by, position=position))

    _special: ClassVar[dict[str, Callable[[SpecialCalls, str, Position], Unresolved]]] = {
        "CAST": _cast,
        "TRY_CAST": _cast,
        "EXTRACT": _extract,
        "FLOOR": _floor,
        "CEIL": _floor,
        "CEILING": _floor,
        "TRIM": _trim,
        "SUBSTRING": _substring,
        "POSITION": _position,
        "OVERLAY": _overlay,
        "TIMESTAMPADD": _unit_first,
        "TIMESTAMPDIFF": _unit_first,
        "ARRAY": _array_constructor,
        "MAP": _array_constructor,
        "ROW": _row_constructor,
        "GROUPING": _grouping,
        "JSON_VALUE": _json,
        "JSON_QUERY": _json,
        "JSON_EXISTS": _json,
        "JSON_OBJECT": _json_object,
        "JSON_OBJECTAGG": _json_object,
        "JSON_ARRAY": _json_array,
        "JSON_ARRAYAGG": _json_array,
    }
