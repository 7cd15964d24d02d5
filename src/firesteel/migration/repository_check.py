"""Check of all programs below a directory."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from firesteel.migration.findings import Kind, Report

__all__ = ["CheckedProgram", "RepositoryReport", "programs_below"]

_PACKAGES = {"pyflink", "firesteel"}
_SKIPPED = {"node_modules", "site-packages", "__pycache__"}


_TABLE = re.compile(r"Unable to create a \w+ for \w+ table '[^']*'\. ")
"""The part of a connector's error that names the table, and so is another one in each program."""


@dataclass(frozen=True)
class CheckedProgram:
    """A program and what was found.

    Attributes:
        path: File of the program.
        report: The report; None if the file can't be checked.
        error: Why it can't be checked; empty if it was.
    """

    path: Path
    report: Report | None
    error: str = ""

    @property
    def verdict(self) -> str:
        """One word or two for all findings."""
        if self.report is None:
            return "unreadable"
        kind = self.report.verdict
        return "works" if kind is None else kind.value

    @property
    def jobs(self) -> str:
        """How many jobs the trial has planned."""
        jobs = self.report.jobs if self.report is not None else None
        return "" if jobs is None else f"{len(jobs)} job" + ("s" if len(jobs) != 1 else "")

    def causes(self) -> list[str]:
        """Return the findings that make the verdict, or the error."""
        if self.report is None:
            return [self.error]
        kind = self.report.verdict
        return [] if kind is None else [str(one) for one in self.report.of_kind(kind)]


@dataclass(frozen=True)
class RepositoryReport:
    """The reports of all programs below a directory."""

    directory: Path
    programs: tuple[CheckedProgram, ...]

    @property
    def is_refused(self) -> bool:
        """Whether a program does not run to its end here."""
        return any(one.report is None or one.report.is_refused for one in self.programs)

    def counts(self) -> dict[str, int]:
        """Return the number of programs by verdict."""
        return dict(Counter(one.verdict for one in self.programs).most_common())

    def common_causes(self) -> list[tuple[str, int]]:
        """Return what stops programs, with the number of programs, most common first."""
        causes: Counter[str] = Counter()
        for one in self.programs:
            if one.report is not None:
                findings = one.report.of_kind(Kind.MISSING) + one.report.of_kind(Kind.FAILS)
                causes.update({_TABLE.sub("", f"{finding.name}: {finding.advice}") for finding in findings})
        return causes.most_common()

    def text(self) -> str:
        """Return a line per program with its findings, and a summary."""
        lines: list[str] = []
        for one in self.programs:
            lines.append(f"{one.verdict}: {one.path}" + (f" ({one.jobs})" if one.jobs else ""))
            lines += [f"  {cause}" for cause in one.causes()]
        summary = ", ".join(f"{number} {verdict}" for verdict, number in self.counts().items())
        count = "1 program" if len(self.programs) == 1 else f"{len(self.programs)} programs"
        return "\n".join([*lines, "", f"{count}: {summary or 'none imports pyflink or firesteel'}"])

    def as_json(self) -> dict[str, object]:
        """Return all reports as JSON data."""
        programs = [
            {"file": str(one.path), "verdict": one.verdict, "error": one.error}
            | ({} if one.report is None else one.report.as_json())
            for one in self.programs
        ]
        return {"directory": str(self.directory), "summary": self.counts(), "programs": programs}


def programs_below(directory: Path) -> list[Path]:
    """Return the files below a directory that import PyFlink or firesteel and that no other of them imports.

    A program may also import it by way of modules of its own.
    """
    imports = {path: _imports(path) for path in _files(directory)}
    users = [path for path, names in imports.items() if _uses(names)]
    for user in users:  # grows while it is read
        users += [path for path, names in imports.items() if path not in users and _names(names, user)]
    imported = {name.rpartition(".")[2] for path in users for name in imports[path] if not _uses({name})}
    return sorted(path for path in users if path.stem not in imported)


def _names(names: set[str], path: Path) -> bool:
    """Return whether one of some imported names is that of a file, as far as its last parts tell."""
    parts = path.with_suffix("").parts
    found = [tuple(part for part in name.split(".") if part) for name in names]
    return any(name and name == parts[-len(name) :] for name in found)


def _uses(names: set[str]) -> bool:
    return any(name.partition(".")[0] in _PACKAGES for name in names)


def _files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if path.name in _SKIPPED or path.name.startswith(".") or (path / "pyvenv.cfg").exists():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix == ".py":
            yield path


def _imports(path: Path) -> set[str]:
    """Return the modules that a file imports; one that is no Python counts as a program if it names one of ours."""
    source = path.read_bytes()
    try:
        tree = ast.parse(source, str(path))
    except (SyntaxError, ValueError):
        return {name for name in _PACKAGES if f"import {name}".encode() in source or f"from {name}".encode() in source}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(f"{node.module or ''}.{alias.name}" for alias in node.names)}
    return names
