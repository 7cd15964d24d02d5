"""Options shared by several commands, and error handling of all commands."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from firesteel.cli.command_group import FileText, OptionPair, refuse_option
from firesteel.common.checks import with_article
from firesteel.common.options.deprecated_keys import with_current_keys
from firesteel.common.options.execution_options import ATTACHED, EXECUTION_TARGET
from firesteel.common.options.kinds import text_of
from firesteel.common.options.known_options import doubt_about
from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.option_check import check_option
from firesteel.common.options.option_readers import Reader, note_of_unread
from firesteel.common.options.python_dependencies import dependency_entries
from firesteel.common.options.python_options import PYTHON_ARCHIVES, PYTHON_FILES, PYTHON_REQUIREMENTS
from firesteel.common.options.rest_options import REST_ADDRESS
from firesteel.common.options.state_options import RECOVERY_CLAIM_MODE, RECOVERY_IGNORE_UNCLAIMED, RECOVERY_PATH
from firesteel.common.terminal_text import printable
from firesteel.errors import FiresteelError


def _options(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    options: dict[str, str] = {}
    for value in values:
        key, separator, text = value.partition("=")
        if not separator or not key:
            raise click.BadParameter(f"{value!r} is not of the form key=value, e.g. -D parallelism.default=4")
        options[key] = text
        if not context.resilient_parsing:
            _check(key, text, "-D")
    return options


def _check(option: str, value: str, origin: str) -> None:
    """Refuse an option that cannot have its effect, and warn of an unknown one, which another Flink may have."""
    try:
        check_option(option, value)
    except InvalidOptionError as error:
        raise click.UsageError(f"{origin}: {error}") from None
    if (doubt := doubt_about(option)) is not None:
        click.echo(f"Warning: {origin}: {doubt}", err=True)


config_option = click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Path of a config.yaml with Flink's options [$FIRESTEEL_CONF_DIR/config.yaml].",
)
option_flags = click.option(
    "-D",
    "options",
    type=OptionPair(),
    multiple=True,
    callback=_options,
    metavar="KEY=VALUE",
    help="Set a Flink or spark.* option.",
)


def warn_of_unread(options: dict[str, str], settings: dict[str, str], *readers: Reader) -> None:
    """Warn of options given with `-D` that nobody reads who is there.

    Args:
        options: Those of `-D`.
        settings: With them all options of the command: jobs run in its process, or on a cluster that runs already.
        readers: The command, and who it starts.
    """
    if Reader.JOB in readers and settings.get(EXECUTION_TARGET.key) != "remote":
        readers += (Reader.CLUSTER,)
    if (note := note_of_unread(options, *readers)) is not None:
        click.echo(f"Warning: -D: {note}", err=True)


def cluster_configuration(config: Path | None, options: dict[str, str]) -> dict[str, str]:
    """Return the options of a cluster: those of its file, of `FIRESTEEL_PROPERTIES` (lines of YAML), then of `-D`.

    Raises:
        click.UsageError: they cannot be parsed, or are refused.
    """
    directory = os.environ.get("FIRESTEEL_CONF_DIR")
    if config is None and directory is not None and (Path(directory) / "config.yaml").exists():
        config = Path(directory) / "config.yaml"
    found = {} if config is None else _of_yaml(config.read_text(), str(config))
    properties = os.environ.get("FIRESTEEL_PROPERTIES", "")
    overriding = _of_yaml(properties, "FIRESTEEL_PROPERTIES") if properties else {}
    return with_current_keys(found) | with_current_keys(overriding) | with_current_keys(options)


def _of_yaml(text: str, origin: str) -> dict[str, str]:
    # Late imports: other commands start without them.
    import yaml

    from firesteel.common.options.core_schema import load_yaml

    try:
        data = load_yaml(text) or {}
        lines = dict(_lines(yaml.compose(text), ""))
    except yaml.YAMLError as error:
        raise click.UsageError(f"{origin} is not valid YAML: {error}") from None
    if not isinstance(data, dict):
        raise click.UsageError(f"{origin} contains {with_article(type(data))}, expected options as key: value")
    options: dict[str, str] = {}
    for option, value in _flat(data, ""):
        place = f"{origin}, line {lines.get(option, 1)}"
        if value is None:  # Flink fails, too; as a text it would be a host or path "None".
            raise click.UsageError(f"{place}: option {option!r} has no value")
        options[option] = value
        _check(option, value, place)
    return options


def _lines(node: Any, prefix: str) -> Iterator[tuple[str, int]]:
    """Yield the line of each option by its dotted name."""
    for key, value in node.value if getattr(node, "id", "") == "mapping" else ():
        yield f"{prefix}{key.value}", key.start_mark.line + 1
        yield from _lines(value, f"{prefix}{key.value}.")


def _flat(data: dict[str, object], prefix: str) -> Iterator[tuple[str, str | None]]:
    """Yield nested options by their dotted names."""
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        elif isinstance(value, list):
            yield f"{prefix}{key}", ";".join(map(text_of, value))
        else:
            yield f"{prefix}{key}", None if value is None else text_of(value)


_DEPENDENCY_FLAGS = (
    click.option(
        "-pyfs",
        "--pyFiles",
        "files",
        type=FileText(),
        metavar="PATH,...",
        help="Python files, packages and zip archives to import.",
    ),
    click.option(
        "-pyreq",
        "--pyRequirements",
        "requirements",
        type=FileText(),
        metavar="FILE[#DIR]",
        help="Requirements to install with pip.",
    ),
    click.option(
        "-pyarch",
        "--pyArchives",
        "archives",
        type=FileText(),
        metavar="PATH[#NAME],...",
        help="Archives to unpack for the program.",
    ),
)


def dependency_flags(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a program's Python dependencies, for `dependency_options`."""
    for option in reversed(_DEPENDENCY_FLAGS):
        command = option(command)
    return command


def restore_options(savepoint: str | None, leaves_state: bool, claim_mode: str | None) -> dict[str, str]:
    """Return the options of the state that a job restores."""
    if savepoint is None:
        if leaves_state:
            raise click.UsageError("--allowNonRestoredState (-n) requires --fromSavepoint (-s)")
        if claim_mode is not None:
            raise click.UsageError("--claimMode (-cm) requires --fromSavepoint (-s)")
        return {}
    options = {
        RECOVERY_PATH.key: savepoint,
        RECOVERY_IGNORE_UNCLAIMED.key: str(leaves_state).lower(),
    }
    return options if claim_mode is None else {**options, RECOVERY_CLAIM_MODE.key: claim_mode.upper()}


def dependency_options(files: str | None, requirements: str | None, archives: str | None) -> dict[str, str]:
    """Return the options of a program's Python dependencies."""
    options = {PYTHON_FILES.key: files, PYTHON_REQUIREMENTS.key: requirements, PYTHON_ARCHIVES.key: archives}
    return {option: value for option, value in options.items() if value is not None}


def program_and_arguments(
    python: str | None, module: str | None, files: str | None, words: tuple[str, ...]
) -> tuple[Path, tuple[str, ...]]:
    """Return the file of a program and its arguments; the file is the first word unless an option names it.

    Raises:
        UsageError: the program is named twice or not at all, or does not exist, or an option in front of it is unknown.
    """
    if python is not None and module is not None:
        raise click.UsageError("use either --python (-py) or --pyModule (-pym), not both")
    for path, _ in dependency_entries(files or ""):
        place = Path(path).resolve()
        sys.path.insert(0, str(place.parent if place.suffix == ".py" else place))
    if module is not None:
        return _file_of(module), words
    if python is None:
        if not words:
            raise click.UsageError("program missing: expected PROGRAM, --python (-py) FILE or --pyModule (-pym) MODULE")
        python, words = words[0], words[1:]
    program = Path(python)
    if not program.is_file():
        refuse_option(click.get_current_context(), python)
        raise click.UsageError(f"program {python!r} not found, or not a regular file")
    return program, words


def _file_of(module: str) -> Path:
    try:
        found = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        found = None
    if found is None or not Path(found.origin or "").is_file():
        raise click.UsageError(f"--pyModule (-pym): module {module!r} not found in --pyFiles (-pyfs)")
    return Path(str(found.origin))


def target_options(target: str | None, address: str | None, detached: bool) -> dict[str, str]:
    """Return the options of the place where a job runs."""
    if address is not None and target not in (None, "remote"):
        raise click.UsageError(f"--jobmanager (-m) requires --target remote, found {target}")
    if detached and target != "remote" and address is None:
        raise click.UsageError("--detached (-d) requires --jobmanager (-m): a local job ends with the command")
    options = {} if target is None else {EXECUTION_TARGET.key: target}
    if address is not None:
        options |= {EXECUTION_TARGET.key: "remote", REST_ADDRESS.key: address}
    if detached:
        options[ATTACHED.key] = "false"
    return options


@contextmanager
def reported_errors(program: Path, verbose: bool) -> Iterator[None]:
    """Report an error of the body as one message on standard error, with exit code 1."""
    try:
        yield
    except Exception as error:
        # The program has set an invalid option, so that its line matters, as with errors of Python.
        if isinstance(error, FiresteelError | NotImplementedError) and not isinstance(error, InvalidOptionError):
            _fail(error, verbose)
        # Late imports: programs start without them.
        from firesteel.cli.user_error import user_error
        from firesteel.common.closed_output import OUTPUT_CLOSED, discard_output, is_of_closed_output

        if is_of_closed_output(error):
            discard_output()
            raise SystemExit(OUTPUT_CLOSED) from None

        click.echo(printable(user_error(error, program)), err=True)
        if verbose:
            traceback.print_exc()
        raise SystemExit(1) from None


def _fail(error: Exception, verbose: bool) -> None:
    click.echo(printable(f"Error: {error}"), err=True)
    failure = getattr(error, "failure", None)
    if verbose:
        click.echo(printable(failure.details if failure is not None else traceback.format_exc()), err=True)
    elif failure is not None and failure.details:
        click.echo("Run with -v to see the full details.", err=True)
    raise SystemExit(1)
