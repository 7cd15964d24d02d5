"""Execution of a program file in this process, as by `python PROGRAM ARGUMENTS`."""

from __future__ import annotations

import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

from firesteel.compat.alias import alias_pyflink


def run_as_main(program: Path, arguments: tuple[str, ...], pyflink: bool) -> None:
    """Run the program as `__main__`, with its directory on `sys.path`.

    As with `python PROGRAM`, `__file__` and the file of the code are absolute, so that the program finds its source and
    the files beside it after it has changed the working directory.

    Args:
        program: File of the program.
        arguments: Its arguments.
        pyflink: Whether `import pyflink` imports firesteel.
    """
    if pyflink:
        alias_pyflink()
    file = os.path.abspath(program)  # unlike Path.resolve(), keeps symbolic links, as Python does
    loader = SourceFileLoader("__main__", file)
    # The loader compiles without the flags of this module: `from __future__ import annotations` would turn the
    # annotations of the program into texts.
    code = loader.source_to_code(loader.get_data(file), file)
    module = ModuleType("__main__")
    module.__file__, module.__loader__ = file, loader
    module.__dict__["__cached__"] = None
    sys.modules["__main__"] = module
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, os.path.dirname(os.path.realpath(file)))
    exec(code, module.__dict__)
