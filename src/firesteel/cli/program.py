"""Runs a user's program in this process, with options and progress of the command line."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from firesteel.common.garbage_collection import collect_garbage_rarely
from firesteel.common.options.execution_options import EXECUTION_TARGET
from firesteel.entrypoint.spark_session import start_early


def run_program(
    program: Path, arguments: tuple[str, ...], options: dict[str, str], pyflink: bool, output: str | None
) -> None:
    """Run the program as `__main__`.

    Spark's JVM starts immediately, so that it is ready for the first job.

    Args:
        program: File of the program.
        arguments: Its arguments.
        options: Default options of its environments.
        pyflink: Whether `import pyflink` imports firesteel.
        output: Format of the progress, `text` or `json`; None shows restarts only.

    Raises:
        JavaNotFoundError: Java is not installed.
    """
    collect_garbage_rarely()  # Imports make many objects, and no garbage.
    # Other imports follow the start of the JVM, which takes longer than they do.
    if EXECUTION_TARGET.of(options) != "remote":
        start_early(options, _show_java if output == "text" else None)
    _show_progress(output)
    from firesteel.common.configuration import set_default_options
    from firesteel.compat import run_as_main
    from firesteel.runtime.logs import leave_log_to_the_program

    leave_log_to_the_program()  # now, as Spark may be ready before the first job
    set_default_options(options)
    # Exclude present objects from garbage collections, of which the interpreter runs several at its end.
    gc.freeze()
    run_as_main(program, arguments, pyflink)
    _hint_of_no_job()


def _show_java(java: object) -> None:
    print(f"Using {java}.", file=sys.stderr)


def _hint_of_no_job() -> None:
    from firesteel.datastream.missing_execute import hint_of_no_job
    from firesteel.datastream.stream_execution_environment import has_unexecuted_program

    hint_of_no_job(has_unexecuted_program)


def _show_progress(output: str | None) -> None:
    # Late import, in parallel to the start of the JVM, which takes as long.
    from firesteel.client import set_progress_reporter
    from firesteel.client.progress_view import make_reporter

    set_progress_reporter(make_reporter(output))
