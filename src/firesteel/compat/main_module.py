"""Execution of a program file in this process, as by `python PROGRAM ARGUMENTS`."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

from firesteel.compat.alias import alias_pyflink


def run_as_main(program: Path, arguments: tuple[str, ...], pyflink: bool) -> None:
    """Run the program as `__main__`, with its directory on `sys.path`.

    Args:
        program: File of the program.
        arguments: Its arguments.
        pyflink: Whether `import pyflink` imports firesteel.
    """
    if pyflink:
        alias_pyflink()
    source = program.read_bytes()
    module = ModuleType("__main__")
    module.__file__ = str(program)
    sys.modules["__main__"] = module
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    exec(compile(source, str(program), "exec"), module.__dict__)
