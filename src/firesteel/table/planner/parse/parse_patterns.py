"""MATCH_RECOGNIZE: its clauses and its pattern."""

from __future__ import annotations

from firesteel.columns.kernels.match.match_pattern import Pattern
from firesteel.table.planner.parse.parse_hints import HintParser
from firesteel.table.syntax.queries import MatchRecognize, Query
from firesteel.table.syntax.unresolved import Alias, Unresolved


class PatternParser(HintParser):
    """A parser of MATCH_RECOGNIZE."""

    def match_recognize(self, query: Query) -> MatchRecognize:
        """Take what follows MATCH_RECOGNIZE."""
        self.expect("(")
        partition = self.comma_list(self.expression) if self.accept("PARTITION", "BY") else ()
        order = self.comma_list(self.ordering) if self.accept("ORDER", "BY") else ()
        measures = self.comma_list(self._measure) if self.accept("MEASURES") else ()
        all_rows = False
        if self.accept("ALL", "ROWS", "PER", "MATCH"):
            all_rows = True
        else:
            self.accept("ONE", "ROW", "PER", "MATCH")
        after: tuple[str, ...] = ("NEXT ROW",)
        if self.accept("AFTER", "MATCH", "SKIP"):
            after = self._after_match()
        self.expect("PATTERN", "(")
        pattern = self._anchored_pattern()
        self.expect(")")
        within = self.expression() if self.accept("WITHIN") else None
        subsets = self.comma_list(self._subset) if self.accept("SUBSET") else ()
        self.expect("DEFINE")
        define = self.comma_list(self._definition)
        self.expect(")")
        return MatchRecognize(query, partition, order, measures, pattern, define, after, all_rows, within, subsets)

    def _measure(self) -> Alias:
        self.accept_any("FINAL", "RUNNING")
        expression = self.expression()
        self.expect("AS")
        return Alias(expression, (self.name(),))

    def _after_match(self) -> tuple[str, ...]:
        if self.accept("PAST", "LAST", "ROW"):
            return ("PAST LAST ROW",)
        self.expect("TO")
        if self.accept("NEXT", "ROW"):
            return ("NEXT ROW",)
        word = self.accept_any("FIRST", "LAST") or "LAST"
        return (word, self.name())

    def _definition(self) -> tuple[str, Unresolved]:
        name = self.name()
        self.expect("AS")
        return name, self.expression()

    def _subset(self) -> tuple[str, tuple[str, ...]]:
        name = self.name()
        self.expect("=")
        return name, self.names()

    def _anchored_pattern(self) -> Pattern:
        has_start = self.accept("^")
        pattern = self._pattern()
        has_end = self.accept("$")
        return ("anchored", pattern) if has_start or has_end else pattern

    def _pattern(self) -> Pattern:
        parts = [self._pattern_sequence()]
        while self.accept("|"):
            parts.append(self._pattern_sequence())
        return parts[0] if len(parts) == 1 else ("or", tuple(parts))

    def _pattern_sequence(self) -> Pattern:
        parts = []
        while not self.at_any(")", "|", "-", "}", "$"):
            parts.append(self._pattern_factor())
        return parts[0] if len(parts) == 1 else ("concat", tuple(parts))

    def _pattern_factor(self) -> Pattern:
        if self.accept("("):
            part = self._pattern()
            self.expect(")")
        elif self.accept("{", "-"):
            part = ("exclude", self._pattern())
            self.expect("-", "}")
        elif self.at("PERMUTE", "("):
            self.next()
            part = ("permute", self.in_parentheses(self._pattern))
        else:
            part = ("var", self.name())
        low, high = self._quantifier()
        if (low, high) == (1, 1):
            return part
        return ("repeat", part, low, high, not self.accept("?"))

    def _quantifier(self) -> tuple[int, int | None]:
        if self.accept("*"):
            return 0, None
        if self.accept("+"):
            return 1, None
        if self.accept("?"):
            return 0, 1
        if self.at("{") and self.ahead().text != "-":
            self.expect("{")
            low = 0 if self.at(",") else self.integer()
            high: int | None = low
            if self.accept(","):
                high = None if self.at("}") else self.integer()
            self.expect("}")
            return low, high
        return 1, 1
