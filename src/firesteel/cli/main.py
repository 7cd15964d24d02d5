"""The command line: parses arguments, and turns every error into one clear message and an exit code.

Exit codes: 0 finished, 1 the job or program failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import sys

import click

from firesteel.cli.cluster_commands import cancel, checkpoint, list_jobs, savepoint, stop
from firesteel.cli.completion import completion
from firesteel.cli.info import info
from firesteel.cli.jobmanager import jobmanager
from firesteel.cli.plan import plan
from firesteel.cli.run import run
from firesteel.cli.watching import logs, status, top


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="firesteel")
def cli() -> None:
    """Flink DataStream programs in Python, run on Spark."""


_PROGRAMS = (run, info, plan)
_JOBS = (list_jobs, status, cancel, stop, savepoint, checkpoint)
_CLUSTERS = (jobmanager, logs, top)
for command in (*_PROGRAMS, *_JOBS, *_CLUSTERS, completion):
    cli.add_command(command)


def main() -> None:
    """Entry point of the console script."""
    try:
        cli(standalone_mode=True)
    finally:
        sys.stdout.flush()
