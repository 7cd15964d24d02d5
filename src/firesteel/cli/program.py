"""Runs a user's program in this process, with options and progress of the command line."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from firesteel.common.configuration import set_default_options
from firesteel.compat import run_as_main
from firesteel.entrypoint.spark_session import shared_gateway

_TARGET = "execution.target"


def run_program(
    program: Path, arguments: tuple[str, ...], options: dict[str, str], pyflink: bool, output: str | None
) -> None:
    """Run the program as `__main__`; Spark's JVM starts at once, so that it is there when the first job is.

    How it is doing is shown as `text` or `json`, or not at all (None).

    Raises:
        JavaNotFoundError: there is no Java.
    """
    if options.get(_TARGET) != "remote":
        java = shared_gateway(options).java
        if output == "text":
            print(f"Using {java}.", file=sys.stderr)
    _show_progress(output)
    set_default_options(options)
    # Garbage collections, of which the interpreter does several when it ends, pass over what is there already.
    gc.freeze()
    run_as_main(program, arguments, pyflink)


def _show_progress(output: str | None) -> None:
    # Imported here and not above: these imports take as long as the start of the JVM, which is under way.
    from firesteel.client import set_progress_reporter

    if output is not None:
        from firesteel.cli.progress_view import make_reporter

        set_progress_reporter(make_reporter(output))
