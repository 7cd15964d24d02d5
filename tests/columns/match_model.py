"""MATCH_RECOGNIZE row by row, for comparison: all ways to match the rows of a partition are followed in turn."""

from __future__ import annotations

from firesteel.columns import column_types as t
from firesteel.columns.rex import Call, InputRef, Literal

NUMBER, TEXT, BOOLEAN = t.BigIntType(), t.VarCharType(10), t.BooleanType()
VALUE = 1
"""The column that conditions are about."""


def number(value):
    return Literal(value, NUMBER)


def of(name, column=VALUE, kind=NUMBER):
    return Call("MATCH_REF", (Literal(name, t.NullType()), InputRef(column, kind)), kind)


def first(name, offset=0):
    return Call("FIRST", (of(name), number(offset)), NUMBER)


def last(name, offset=0):
    return Call("LAST", (of(name), number(offset)), NUMBER)


def aggregate(function, name):
    return Call(f"AGGREGATE {function}", (Literal(name, t.NullType()), of(name)), NUMBER)


def compare(function, a, b):
    return Call(function, (a, b), BOOLEAN)


def either(a, b):
    return Call("OR", (a, b), BOOLEAN)


def is_null(a):
    return Call("IS NULL", (a,), BOOLEAN)


class Model:
    """The matches of one partition.

    Args:
        steps: The steps of the pattern.
        define: The conditions by variable, as expressions.
        after: Where the search goes on.
        within: The maximum duration, or None.
        subsets: The variables of each subset.
    """

    def __init__(self, steps, define, after, within, subsets=()):
        self.steps, self.define, self.after, self.within = steps, dict(define), after, within
        self.subsets = {name: set(of) for name, of in subsets}
        self.rows, self.start = [], 0
        self.last = max(place for place, step in enumerate(steps) if step.low)

    def add(self, rows, now):
        """Return the matches after further rows of a time and a value each, as lists of labels with the first row."""
        self.rows += rows
        found = []
        while self.start < len(self.rows):
            labels = self.search(now)
            if labels == "waits":
                break
            if labels is None:
                self.start += 1
                continue
            found.append((self.start, labels))
            self.start = self.next_start(labels)
        return found

    def next_start(self, labels):
        if self.after[0] == "NEXT ROW":
            return self.start + 1
        if self.after[0] == "PAST LAST ROW":
            return self.start + len(labels)
        places = [place for place, label in enumerate(labels) if label in self.members(self.after[1])]
        if not places:
            raise ValueError("no row")
        place = places[0 if self.after[0] == "FIRST" else -1]
        if place == 0:
            raise ValueError("first element")
        return self.start + place

    def search(self, now):
        begun = self.rows[self.start][0]
        threads, length = [(0, 0, [])], 0
        while threads:
            place = self.start + length
            if place == len(self.rows):
                return "waits" if self.within is None or now - begun < self.within else None
            if self.within is not None and self.rows[place][0] - begun >= self.within:
                return None
            threads = [after for step, taken, labels in threads for after in self.followed(step, taken, labels)]
            length += 1
            for step, taken, labels in threads:
                if step >= self.last and taken >= self.steps[step].low:
                    return labels
        return None

    def followed(self, step, taken, labels):
        if step == len(self.steps):
            return []
        current = self.steps[step]
        may_leave, is_full = taken >= current.low, current.high is not None and taken >= current.high
        later = self.followed(step + 1, 0, labels) if may_leave and not current.is_greedy_loop else []
        if (current.is_greedy_loop or not is_full) and self.takes([*labels, current.name]):
            return later if is_full else [(step, taken + 1, [*labels, current.name]), *later]
        if may_leave and current.is_greedy_loop:
            return self.followed(step + 1, 0, labels)
        return later

    def takes(self, labels):
        condition = self.define.get(labels[-1])
        return condition is None or self.value(condition, self.start, labels) is True

    def members(self, name):
        return self.subsets.get(name, {name})

    def values(self, name, start, labels):
        members = self.members(name)
        return [self.rows[start + n][1] for n, label in enumerate(labels) if name == "*" or label in members]

    def value(self, rex, start, labels):
        """Return the value of an expression over a match."""
        if isinstance(rex, Literal):
            return rex.value
        if rex.function.startswith("AGGREGATE "):
            values = [v for v in self.values(rex.operands[0].value, start, labels) if v is not None]
            match rex.function.split()[1]:
                case "COUNT":
                    return len(values)
                case "SUM":
                    return sum(values) if values else None
                case "AVG":
                    return sum(values) // len(values) if values else None
                case "MIN":
                    return min(values, default=None)
                case "MAX":
                    return max(values, default=None)
        if rex.function in ("MATCH_REF", "FIRST", "LAST"):
            inner = rex if rex.function == "MATCH_REF" else rex.operands[0]
            offset = rex.operands[1].value if rex.function != "MATCH_REF" else 0
            values = self.values(inner.operands[0].value, start, labels)
            place = offset if rex.function == "FIRST" else len(values) - 1 - offset
            return values[place] if 0 <= place < len(values) else None
        values = [self.value(operand, start, labels) for operand in rex.operands]
        match rex.function:
            case "IS NULL":
                return values[0] is None
            case "OR":
                return True if True in values else None if None in values else False
        if None in values:
            return None
        a, b = values
        return {"<": a < b, ">": a > b, "=": a == b, "<=": a <= b, "<>": a != b}[rex.function]
