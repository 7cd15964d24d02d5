"""Runs a user's program in this process, as `python PROGRAM` would, with options and progress of the command line."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import ModuleType

from firesteel.cli.progress_view import make_reporter
from firesteel.client import set_progress_reporter
from firesteel.common.configuration import set_default_options
from firesteel.compat import alias_pyflink
from firesteel.entrypoint import shared_gateway

_OUR_CODE = str(Path(__file__).resolve().parents[1])


def run_program(program: Path, arguments: tuple[str, ...], options: dict[str, str], pyflink: bool, quiet: bool) -> None:
    """Run the program as `__main__`; Spark's JVM starts at once, so that it is there when the first job is.

    Raises:
        JavaNotFoundError: there is no Java.
    """
    gateway = shared_gateway(options)
    if not quiet:
        print(f"Using {gateway.java}.", file=sys.stderr)
        set_progress_reporter(make_reporter())
    set_default_options(options)
    if pyflink:
        alias_pyflink()
    source = program.read_bytes()
    module = ModuleType("__main__")
    module.__file__ = str(program)
    sys.modules["__main__"] = module
    sys.argv = [str(program), *arguments]
    sys.path.insert(0, str(program.resolve().parent))
    exec(compile(source, str(program), "exec"), module.__dict__)


def user_error(error: Exception, program: Path) -> str:
    """What to show of an exception that ended the program: the user's own lines.

    If the program gave firesteel something that it refused, the message and the line that did it; else the traceback
    through the program.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not frame.filename.startswith((_OUR_CODE, "<frozen"))]
    own = own[next((i for i, frame in enumerate(own) if frame.filename == str(program)), len(own)) :]
    if own and frames[-1].filename.startswith(_OUR_CODE):
        return f"Error: {error}\n  at {own[-1].filename}:{own[-1].lineno} in {own[-1].name}: {own[-1].line}"
    lines = traceback.format_list(own) + traceback.format_exception_only(error)
    return f"{program} failed:\n{''.join(lines).rstrip()}"
