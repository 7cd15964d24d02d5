"""Static check of all files of a program."""

from __future__ import annotations

import ast
from pathlib import Path

from firesteel.compat import alias_pyflink
from firesteel.migration.file_check import FileCheck
from firesteel.migration.findings import Report


def check_program(program: Path) -> Report:
    """Check a program and its own modules that it imports, without running any of them.

    As a side effect, `import pyflink` imports firesteel's modules in this process from then on.

    Raises:
        SyntaxError: a file is not valid Python.
        OSError: a file cannot be read.
    """
    alias_pyflink()
    report = Report()
    waiting, done = [program], set[Path]()
    while waiting:
        path = waiting.pop()
        if path not in done:
            done.add(path)
            check = FileCheck(path, report)
            check.visit_file(ast.parse(path.read_bytes(), str(path)))
            waiting += [module for name in check.other_imports if (module := _beside(program, name))]
    return report


def _beside(program: Path, name: str) -> Path | None:
    """Return the file of a module in the program's directory."""
    base = program.parent.joinpath(*name.split("."))
    candidates = (base.with_suffix(".py"), base / "__init__.py")
    return next((path for path in candidates if path.is_file()), None)
