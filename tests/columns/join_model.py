"""What a join of changelogs emits, row by row. Flink: `StreamingJoinOperator`, `StreamingSemiAntiJoinOperator`."""

from __future__ import annotations

from firesteel.columns.row_keys import freeze
from firesteel.columns.rows import DELETE, INSERT


class JoinModel:
    """A join whose sides are lists of `[row, number of matches, time of the last write]`."""

    def __init__(self, plan, fits, ttls_ms=(0, 0)):
        self.kind, self.outer, self.is_semi = plan.kind, plan.outer, plan.is_semi
        self.unique = plan.unique
        self.counts = (True, False) if plan.is_semi else plan.outer
        self.fits, self.ttls_ms, self.now = fits, ttls_ms, 0
        self.nulls = tuple((None,) * len(types) for types in (plan.left_types, plan.right_types))
        self.sides = ([], [])
        self.emitted = []

    def live(self, side):
        ttl_ms = self.ttls_ms[side]
        return [entry for entry in self.sides[side] if not ttl_ms or entry[2] + ttl_ms > self.now]

    def change(self, index, changes):
        self.emitted = []
        for row, kind in changes:
            goes = kind in (1, DELETE)
            is_found = (goes or self.unique[index] is not None) and self.removed(index, row)
            if goes and not is_found:
                continue
            step = -1 if goes else 0 if is_found else 1
            others = [other for other in self.live(1 - index) if self.matches(index, row, other[0])]
            if self.is_semi:
                self.semi(index, row, kind, others, step)
            else:
                self.join(index, row, kind, others, step)
            if not goes:
                self.sides[index].append([row, len(others), self.now])
        return self.emitted

    def removed(self, index, row):
        columns = range(len(row)) if self.unique[index] is None else self.unique[index]
        values = [freeze(row[column]) for column in columns]
        same = (entry for entry in self.live(index) if [freeze(entry[0][column]) for column in columns] == values)
        found = next(same, None)
        if found is not None:
            self.sides[index][:] = [entry for entry in self.sides[index] if entry is not found]
        return found is not None

    def matches(self, index, row, other):
        return self.fits(row, other) if index == 0 else self.fits(other, row)

    def pair(self, index, row, other):
        return row + other if index == 0 else other + row

    def recount(self, index, other, step):
        """Count a match, and return whether it is the first one, or was the last."""
        if self.counts[index]:
            other[1:] = other[1] + step, self.now
        return self.counts[index] and step and other[1] == max(step, 0)

    def join(self, index, row, kind, others, step):
        emit = self.emitted.append
        change = (DELETE if step < 0 else INSERT) if any(self.outer) else kind
        if not others and self.outer[index]:
            emit((change, self.pair(index, row, self.nulls[1 - index])))
        for other in others:
            turns = self.recount(1 - index, other, step)
            alone = self.pair(index, self.nulls[index], other[0])
            if turns and step > 0:
                emit((DELETE, alone))
            emit((change, self.pair(index, row, other[0])))
            if turns and step < 0:
                emit((INSERT, alone))

    def semi(self, index, row, kind, others, step):
        if index == 0:
            if bool(others) == (self.kind == "SEMI"):
                self.emitted.append((kind, row))
            return
        for other in others:
            if self.recount(0, other, step):
                self.emitted.append((INSERT if (step > 0) == (self.kind == "SEMI") else DELETE, other[0]))
