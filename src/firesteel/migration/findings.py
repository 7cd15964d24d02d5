"""The findings of a check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Kind(Enum):
    """The meaning of a finding for the program."""

    MISSING = "missing"
    DIFFERS = "differs"
    UNUSED = "imported, not used"


@dataclass(frozen=True, order=True)
class Finding:
    """A name of PyFlink that is missing or behaves differently in firesteel.

    Attributes:
        path: File of the program.
        line: Line number, from 1.
        name: The name in PyFlink.
        kind: The kind of finding.
        advice: What to do, or what differs.
    """

    path: Path
    line: int
    name: str
    kind: Kind = field(compare=False)
    advice: str = field(compare=False)

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name}: {self.advice}"


@dataclass
class Report:
    """The findings in the files of a program, once per name and line.

    Attributes:
        findings: The findings.
        works: Names of PyFlink that the program uses and firesteel has.
    """

    findings: set[Finding] = field(default_factory=set)
    works: set[str] = field(default_factory=set)

    def of_kind(self, kind: Kind) -> list[Finding]:
        """Return the findings of a kind, sorted by file and line."""
        return sorted(finding for finding in self.findings if finding.kind is kind)

    def missing_text(self) -> str:
        """Return the missing names, one per line; empty if there are none."""
        return "\n".join(map(str, self.of_kind(Kind.MISSING)))

    def text(self) -> str:
        """Return the whole report."""
        parts = [_section(kind.value.capitalize(), self.of_kind(kind)) for kind in Kind]
        works = ", ".join(sorted(self.works)) or "no name of PyFlink"
        return "\n\n".join([*filter(None, parts), f"Works: {works}"])

    def as_json(self) -> dict[str, object]:
        """Return the whole report as JSON data."""
        lists: dict[str, object] = {kind.name.lower(): _data(self.of_kind(kind)) for kind in Kind}
        return {**lists, "works": sorted(self.works)}


def _section(title: str, findings: Iterable[Finding]) -> str:
    lines = [f"  {finding}" for finding in findings]
    return "\n".join([f"{title}:", *lines]) if lines else ""


def _data(findings: Iterable[Finding]) -> list[dict[str, object]]:
    return [{"file": str(one.path), "line": one.line, "name": one.name, "advice": one.advice} for one in findings]
