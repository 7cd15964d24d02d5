"""`firesteel examples` and `firesteel init`: files to begin with."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

_PACKAGE = Path(__file__).parents[1]
_TEMPLATES = {"datastream": ("datastream",), "kafka": ("kafka",), "sql": ("sql",), "tests": ("datastream", "tests")}
"""The directories of each template; files of later ones replace those of the same name."""


def packaged(name: str) -> Path:
    """Return a directory that the wheel brings, or that of the checkout which is run in place of a wheel."""
    found = _PACKAGE / name
    return found if found.is_dir() else _PACKAGE.parents[1] / name


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def examples(directory: Path) -> None:
    """Copy the programs of the tutorials, and their data, to a new DIRECTORY."""
    _copy([packaged("examples")], directory)
    click.echo(f"Run one:\n  cd {directory}\n  firesteel run --quiet word_count.py --input data/alice.txt --top 3")


@click.command()
@click.option(
    "--template",
    type=click.Choice(list(_TEMPLATES)),
    default="datastream",
    show_default=True,
    help="The kind of program.",
)
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
def init(template: str, directory: Path) -> None:
    """Begin a project in a new DIRECTORY: a program that runs, its requirements, and how to go on.

    Templates: datastream (a job with state), kafka (from topic to topic, with a broker in a container), sql (a script),
    tests (a job with tests of its function and of the whole).
    """
    _copy([packaged("templates") / name for name in _TEMPLATES[template]], directory)
    click.echo(f"Read {directory / 'README.md'}, which says how to run it.")


def _copy(sources: Sequence[Path], directory: Path) -> None:
    """Copy files to a directory that is new or empty, so that nothing of the user's is overwritten."""
    if directory.exists() and any(directory.iterdir()):
        raise click.UsageError(f"{directory} exists and is not empty; name a new directory")
    for name, path in {path.relative_to(source): path for source in sources for path in _files(source)}.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        click.echo(f"created {target}")


def _files(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield path
