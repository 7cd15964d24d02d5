"""Static check of all files of a program."""

from __future__ import annotations

import ast
from pathlib import Path

from firesteel.compat import alias_pyflink
from firesteel.migration.file_check import FileCheck
from firesteel.migration.findings import Report


def check_program(program: Path, roots: tuple[Path, ...] = ()) -> Report:
    """Check a program and its own modules that it imports, without running any of them.

    As a side effect, `import pyflink` imports firesteel's modules in this process from then on.

    Args:
        program: File of the program.
        roots: Directories beside its own in which its modules may be.

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
            waiting += [module for name in check.other_imports if (module := _module(name, (program.parent, *roots)))]
    return report


def _module(name: str, directories: tuple[Path, ...]) -> Path | None:
    """Return the file of a module in the first of some directories that has it."""
    bases = [directory.joinpath(*name.split(".")) for directory in directories]
    candidates = [path for base in bases for path in (base.with_suffix(".py"), base / "__init__.py")]
    return next((path for path in candidates if path.is_file()), None)
