"""Runs a user's program in this process, with options and progress of the command line."""

from __future__ import annotations

import sys
from pathlib import Path

from firesteel.cli.progress_view import make_reporter
from firesteel.client import TARGET, set_progress_reporter
from firesteel.common.configuration import set_default_options
from firesteel.compat import run_as_main
from firesteel.entrypoint import shared_gateway


def run_program(
    program: Path, arguments: tuple[str, ...], options: dict[str, str], pyflink: bool, output: str | None
) -> None:
    """Run the program as `__main__`; Spark's JVM starts at once, so that it is there when the first job is.

    How it is doing is shown as `text` or `json`, or not at all (None).

    Raises:
        JavaNotFoundError: there is no Java.
    """
    if options.get(TARGET) != "remote":
        java = shared_gateway(options).java
        if output == "text":
            print(f"Using {java}.", file=sys.stderr)
    if output is not None:
        set_progress_reporter(make_reporter(output))
    set_default_options(options)
    run_as_main(program, arguments, pyflink)
