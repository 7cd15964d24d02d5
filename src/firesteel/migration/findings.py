"""The findings of a check."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path


class Kind(Enum):
    """The meaning of a finding for the program."""

    MISSING = "missing"
    FAILS = "fails"
    DIFFERS = "differs"
    BROKEN = "fails in PyFlink 2.3, too"
    UNCHECKED = "not checked"
    UNUSED = "imported, not used"


@dataclass(frozen=True, order=True)
class Finding:
    """A name of PyFlink that is missing or behaves differently in firesteel, or an error of a trial.

    Attributes:
        path: File of the program.
        line: Line number, from 1; 0 if there is none.
        name: The name in PyFlink, or the error.
        kind: The kind of finding.
        advice: What to do, what differs, or the message of the error.
        is_in_lambda: Whether it is in a lambda, whose line may be executed without it.
    """

    path: Path
    line: int
    name: str
    kind: Kind = field(compare=False)
    advice: str = field(compare=False)
    is_in_lambda: bool = field(compare=False, default=False)

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{place}: {self.name}: {self.advice}"


@dataclass(frozen=True, order=True)
class PlannedJob:
    """A job that the program gives to the cluster when it is run.

    Attributes:
        path: File of the program.
        line: Line that executes the job.
        name: Its name.
        operators: The number of operators in its stream graph.
    """

    path: Path
    line: int
    name: str
    operators: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.name!r}, {self.operators} operators"


@dataclass
class Report:
    """The findings in the files of a program, once per name and line.

    Attributes:
        findings: The findings.
        works: Names of PyFlink that the program uses and firesteel has.
        jobs: The jobs that a trial has planned; None without a trial.
    """

    findings: set[Finding] = field(default_factory=set)
    works: set[str] = field(default_factory=set)
    jobs: list[PlannedJob] | None = None

    def of_kind(self, kind: Kind) -> list[Finding]:
        """Return the findings of a kind, sorted by file and line."""
        return sorted(finding for finding in self.findings if finding.kind is kind)

    @property
    def verdict(self) -> Kind | None:
        """What matters most about the program: that it lacks something, fails, was not checked in full or differs."""
        order = (Kind.MISSING, Kind.FAILS, Kind.UNCHECKED, Kind.DIFFERS)
        return next((kind for kind in order if self.of_kind(kind)), None)

    @property
    def is_refused(self) -> bool:
        """Whether the program does not run to its end here."""
        return self.verdict in (Kind.MISSING, Kind.FAILS)

    def missing_text(self) -> str:
        """Return the missing names, one per line; empty if there are none."""
        return "\n".join(map(str, self.of_kind(Kind.MISSING)))

    def text(self) -> str:
        """Return the whole report."""
        parts = [_section(kind.value, self.of_kind(kind)) for kind in Kind]
        if self.works or self.jobs is None:
            parts.append("Works: " + (", ".join(sorted(self.works)) or "no name of PyFlink"))
        return "\n\n".join([*filter(None, parts), *self._jobs_text()])

    def _jobs_text(self) -> list[str]:
        if self.jobs is None:
            return []
        hint = "; is env.execute() missing?" if self.verdict in (None, Kind.DIFFERS) else ""
        return [_section("jobs", self.jobs) or f"Jobs: none{hint}"]

    def as_json(self) -> dict[str, object]:
        """Return the whole report as JSON data."""
        lists: dict[str, object] = {kind.name.lower(): _data(self.of_kind(kind)) for kind in Kind}
        jobs = None if self.jobs is None else [_job_data(job) for job in self.jobs]
        return {**lists, "works": sorted(self.works), "jobs": jobs}


def _section(title: str, findings: Iterable[object]) -> str:
    lines = [f"  {finding}" for finding in findings]
    return "\n".join([f"{title[0].upper()}{title[1:]}:", *lines]) if lines else ""


def _data(findings: Iterable[Finding]) -> list[dict[str, object]]:
    return [{"file": str(one.path), "line": one.line, "name": one.name, "advice": one.advice} for one in findings]


def _job_data(job: PlannedJob) -> dict[str, object]:
    return {"file": str(job.path), "line": job.line, "name": job.name, "operators": job.operators}
