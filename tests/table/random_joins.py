"""Random graphs of inner joins of up to eight tables, in random order and in all ways to write them."""

from __future__ import annotations

import random
from dataclasses import dataclass

MOST = 8
COLUMNS = ("k", "v", "w")
_SIDES = ("x{}.k", "x{}.v", "x{}.k + 1", "CAST(x{}.v AS BIGINT)", "x{}.w")
_SOURCES = (
    "t{0} AS x{0}",
    "v{0} AS x{0}",
    "(SELECT * FROM t{0} WHERE k > 0) AS x{0}",
    "(SELECT k, v, MAX(w) AS w FROM t{0} GROUP BY k, v) AS x{0}",
)
VIEW = "CREATE VIEW v{0} AS SELECT v AS k, k AS v, w FROM t{0}"


@dataclass(frozen=True)
class JoinGraph:
    """Tables `x0`, `x1`, ... of which some are connected by equations."""

    count: int
    edges: list[tuple[int, int]]
    query: str

    @property
    def components(self) -> int:
        """How many parts no equation connects."""
        parts = [{number} for number in range(self.count)]
        for edge in self.edges:
            apart = [part for part in parts if not part & set(edge)]
            parts = [*apart, set().union(*(part for part in parts if part & set(edge)))]
        return len(parts)


def join_graph(choose: random.Random) -> JoinGraph:
    """Return a random graph and a query of it."""
    count = choose.randrange(2, MOST + 1)
    edges = [(number, choose.randrange(number)) for number in range(1, count) if choose.random() < 0.9]
    edges += [(pair[0], pair[1]) for pair in (choose.sample(range(count), 2) for _ in range(choose.randrange(3)))]
    conditions = [({a, b}, f"{_side(choose, a)} = {_side(choose, b)}") for a, b in edges]
    if choose.random() < 0.5:
        a, b = choose.sample(range(count), 2)
        conditions.append(({a, b}, f"x{a}.k < x{b}.v"))
    conditions += [({number}, f"x{number}.v > 0") for number in range(count) if choose.random() < 0.2]
    choose.shuffle(conditions)
    return JoinGraph(count, edges, _query(choose, count, conditions))


def _side(choose: random.Random, number: int) -> str:
    return choose.choice(_SIDES).format(number)


def _query(choose: random.Random, count: int, conditions: list[tuple[set[int], str]]) -> str:
    """Return the query: some conditions follow the join that first has their tables, the others are in WHERE."""
    first, *others = choose.sample(range(count), count)
    share_on = choose.choice([0.0, 0.5, 1.0])
    text, seen, waiting = choose.choice(_SOURCES).format(first), {first}, conditions
    for number in others:
        seen.add(number)
        on = [one for one in waiting if one[0] <= seen and choose.random() < share_on]
        waiting = [one for one in waiting if one not in on]
        source = choose.choice(_SOURCES).format(number)
        if on:
            text += f" JOIN {source} ON {' AND '.join(condition for _, condition in on)}"
        else:
            text += f" CROSS JOIN {source}" if share_on else f", {source}"
    where = f" WHERE {' AND '.join(condition for _, condition in waiting)}" if waiting else ""
    columns = ", ".join(f"x{number}.{column} AS {column}{number}" for number in range(count) for column in COLUMNS)
    return f"SELECT {columns} FROM {text}{where}"
