"""The options of commands that run a program."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path

import click

from firesteel.cli.arguments import option_flags, reported_errors
from firesteel.cli.command_group import Whole
from firesteel.cli.missing_names import refuse_missing
from firesteel.common.options.execution_options import RUNTIME_MODE
from firesteel.common.options.pipeline_options import DEFAULT_PARALLELISM

_PROGRAM_OPTIONS = (
    click.option("-p", "--parallelism", type=Whole(min=1), help="Default parallelism of operators."),
    click.option(
        "--runtime-mode",
        type=click.Choice(["BATCH", "STREAMING", "AUTOMATIC"], case_sensitive=False),
        help="Execution mode of the job [STREAMING].",
    ),
    option_flags,
    click.option("--pyflink", is_flag=True, help="Make `import pyflink` import firesteel."),
    click.option("--no-check", "unchecked", is_flag=True, help="With --pyflink, run even if names are missing."),
    click.option("-v", "--verbose", is_flag=True, help="Show the full details of an error."),
)


@dataclass(frozen=True, slots=True)
class ProgramOptions:
    """The options that all commands have which run a program."""

    parallelism: int | None
    runtime_mode: str | None
    options: dict[str, str]
    pyflink: bool
    unchecked: bool
    verbose: bool

    @property
    def flags(self) -> dict[str, str]:
        """The options of the program that have flags of their own."""
        found = {DEFAULT_PARALLELISM.key: self.parallelism, RUNTIME_MODE.key: self.runtime_mode}
        return {key: str(value).upper() for key, value in found.items() if value is not None}

    @contextmanager
    def checked(self, program: Path) -> Iterator[None]:
        """Check a program before the body, and report an error of the body as `reported_errors` does."""
        with reported_errors(program, self.verbose):
            refuse_missing(program, self.pyflink and not self.unchecked)
            yield


def program_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of commands that run a program, which get them as `given`."""

    @functools.wraps(command)
    def with_given(**values: object) -> None:
        make: Callable[..., ProgramOptions] = ProgramOptions
        given = make(**{field.name: values.pop(field.name) for field in fields(ProgramOptions)})
        command(given=given, **values)

    for option in reversed(_PROGRAM_OPTIONS):
        with_given = option(with_given)
    return with_given
