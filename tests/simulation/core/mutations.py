"""Rules that are broken on purpose; each has a seed that detects it, so the simulations can fail.

`PYTHONHASHSEED=0 python -m tests.simulation.PLANE.mutations` searches for the first seed that detects each rule of a
plane and writes its part of docs/simulation.md; with `--check` it only checks the seeds in the document.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.simulation.core.seed import Seed

DOCUMENT = Path(__file__).parents[3] / "docs" / "simulation.md"
MOST_SEEDS = 1000

Broken = Callable[..., Any]
"""Is called in place of a method, with the original as its first argument."""

_ROW = re.compile(r"^\| (?P<rule>[^|]+) \| (?P<seed>\d+) \|", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutation:
    """A rule, and how it is broken."""

    rule: str
    owner: Any
    method: str
    broken: Broken

    def caught_by(self, simulate: Callable[[int], Seed], number: int) -> str | None:
        """Return the violation that the simulation of a seed finds."""
        original, broken = getattr(self.owner, self.method), self.broken

        def replacement(*arguments: Any, **options: Any) -> Any:
            return broken(original, *arguments, **options)

        mutant = property(replacement) if isinstance(original, property) else replacement
        with mock.patch.object(self.owner, self.method, mutant):
            violations = simulate(number).violations
        return violations[0] if violations else None


class Mutations:
    """The mutations of a plane.

    Args:
        simulate: Runs a seed.
        title: The title in the document above their table.
    """

    def __init__(self, simulate: Callable[[int], Seed], title: str) -> None:
        self.all: list[Mutation] = []
        self._simulate = simulate
        self._title = title

    def breaks(self, rule: str, owner: Any, method: str) -> Callable[[Broken], Broken]:
        """Make a mutation of a function that breaks a rule in place of a method of a class, or function of a module."""

        def add(broken: Broken) -> Broken:
            self.all.append(Mutation(rule, owner, method, broken))
            return broken

        return add

    def main(self) -> int:
        """Check the document with `--check`, else write it; return 1 if a broken rule is not detected."""
        sys.unraisablehook = lambda _: None
        missed = self._check() if "--check" in sys.argv else self._write_document()
        for rule in missed:
            print(f"broken and not found: {rule}", file=sys.stderr)
        return 1 if missed else 0

    def _check(self) -> list[str]:
        """Return the rules whose documented seeds no longer detect that they are broken."""
        seeds = {match["rule"]: int(match["seed"]) for match in _ROW.finditer(DOCUMENT.read_text())}
        return [
            one.rule
            for one in self.all
            if one.rule not in seeds or one.caught_by(self._simulate, seeds[one.rule]) is None
        ]

    def _write_document(self) -> list[str]:
        """Search for a seed of each mutation, write them below the title, and return the rules without a seed."""
        rows, missed = [], []
        for mutation in self.all:
            found = ((seed, mutation.caught_by(self._simulate, seed)) for seed in range(MOST_SEEDS))
            seed, violation = next(((seed, text) for seed, text in found if text), (None, ""))
            print(f"{mutation.rule}: {seed} {violation}", flush=True)
            if seed is None:
                missed.append(mutation.rule)
            broken = f"`{mutation.owner.__name__}.{mutation.method}`"
            text = re.sub("[0-9a-f]{16,}", "…", re.sub(r"/\S*firesteel-simulated-\w+/", "", violation))
            rows.append(f"| {mutation.rule} | {seed} | {broken} | {text[:120]} |")
        document = DOCUMENT.read_text()
        begin = document.index("| rule |", document.index(self._title))
        end = document.find("\n\n", begin)
        header = ["| rule | seed | broken in | what is found |", "|---|--:|---|---|"]
        rest = "\n" if end < 0 else document[end:]
        DOCUMENT.write_text(document[:begin] + "\n".join([*header, *rows]) + rest)
        return missed
