"""The pages agree with the command line, the public API and the messages of the sources."""

from __future__ import annotations

import ast
import importlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import firesteel
from docs.generate.hooks import ROOT, copied_files, with_links_into_the_site
from docs.generate.rest import rest_reference
from docs.generate.snippets import code_of, with_snippets
from firesteel.cli.main import cli
from firesteel.pyflink1.names import REMOVED
from firesteel.pyflink1.tables.names import TABLE_NAMES
from firesteel.rest.server import ROUTES

DOCS = ROOT / "docs"
SOURCE = Path(firesteel.__file__).parent
PAGES = sorted(path for path in [*DOCS.rglob("*.md"), ROOT / "README.md"] if "decisions" not in path.parts)

# --- command line --------------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, str]]:
    """Yield page and line of each `firesteel ...` in blocks of code; continued lines are one."""
    for page in PAGES:
        for block in re.findall(r"^ *```\w*\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL):
            for line in block.replace("\\\n", " ").splitlines():
                found = re.match(r"\s*(?:\$ )?(?:\S*/|FIRESTEEL_\w+=\S+ )?firesteel (.*)", line)
                if found and "|" not in found[1].split("#")[0].split('"')[0]:
                    yield page.relative_to(ROOT).as_posix(), found[1]


def problem_with(line: str) -> str | None:
    """Return what is wrong with the options of a command, None if nothing is."""
    words = shlex.split(re.sub(r"\s#.*|\$\(.*?\)", "", line))
    command: click.Command = cli
    context = click.Context(cli)
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        if found is None:
            return None if command.invoke_without_command or command is not cli else f"there is no command {words[0]}"
        command = found
        words.pop(0)
    options = {
        name: option for option in command.params if isinstance(option, click.Option) for name in option.opts
    } | {"-h": None, "--help": None}
    position = 0
    while position < len(words):
        word, position = words[position], position + 1
        if not word.startswith("-"):
            if command.name in {"run", "plan", "info"} and word.endswith(".py"):
                return None  # what follows is for the program
            continue
        name = word.split("=")[0]
        if name not in options:
            return f"{command.name} has no option {name}"
        option = options[name]
        if option is not None and not option.is_flag and "=" not in word:
            position += 1
    return None


def test_each_command_that_is_shown_exists() -> None:
    problems = {f"{page}: {line}": problem_with(line) for page, line in commands()}
    assert {line: problem for line, problem in problems.items() if problem is not None} == {}


def test_many_commands_are_shown() -> None:
    assert len(set(commands())) > 50


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("run --paralel 2 job.py", "run has no option --paralel"),
        ("fly job.py", "there is no command fly"),
        ("jobmanager start --ports 1", "start has no option --ports"),
        ("run job.py --of-the-program", None),
    ],
)
def test_wrong_commands_are_found(line: str, problem: str | None) -> None:
    assert problem_with(line) == problem


# --- API -----------------------------------------------------------------------------------------------------------

PUBLIC = (
    "common",
    "datastream",
    "datastream.connectors.base",
    "datastream.connectors.elasticsearch",
    "datastream.connectors.jdbc",
    "datastream.formats.csv",
    "datastream.formats.json",
    "datastream.functions",
    "datastream.state",
    "datastream.window",
    "metrics",
    "state_processor",
    "table",
    "table.expressions",
    "testing",
)


def api_names() -> set[str]:
    text = "".join(path.read_text() for path in (DOCS / "api").glob("*.md"))
    return set(re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE))


@pytest.mark.parametrize("package", PUBLIC)
def test_each_public_name_is_in_the_api_reference(package: str) -> None:
    module = importlib.import_module(f"firesteel.{package}")
    documented = {name.split(".")[-1] for name in api_names()}
    added = {
        removed.name for removed in (*REMOVED, *TABLE_NAMES)
    }  # by a test before, which needs the names of PyFlink 1
    assert [name for name in module.__all__ if name not in documented | added] == []


def test_the_api_reference_names_what_exists() -> None:
    for name in api_names():
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


# --- messages ------------------------------------------------------------------------------------------------------

HEADING = re.compile(r"^### (.*)$", re.MULTILINE)
SYMPTOMS = {"A window never fires"}
"""Headings that are no messages: what a user sees if there is none."""


def messages_of_the_sources() -> list[str]:
    """Return all texts in the sources; values that are filled in are left out."""
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                found.append("".join(part.value for part in node.values if isinstance(part, ast.Constant)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return found


def documented_messages() -> list[str]:
    headings = HEADING.findall((DOCS / "operations" / "troubleshooting.md").read_text())
    assert set(headings) > SYMPTOMS
    return [heading for heading in headings if heading not in SYMPTOMS]


@pytest.mark.slow
def test_each_documented_message_is_in_the_sources() -> None:
    sources = messages_of_the_sources()
    messages = documented_messages()
    assert len(messages) >= 25
    for message in messages:
        pieces = [re.escape(piece.strip()) for piece in message.split("…") if len(piece) > 2]
        text_of = re.compile(".*".join(pieces), re.DOTALL)
        assert pieces, message
        assert any(map(text_of.search, sources)), message


# --- generation ----------------------------------------------------------------------------------------------------


def test_the_rest_reference_has_each_route() -> None:
    reference = rest_reference().replace("<wbr>", "")
    assert all(f"| {route.method} | <code>{route.path}</code> |" in reference for route in ROUTES)


def test_links_that_leave_the_documentation_point_to_copies() -> None:
    text = "[a](../benchmarks/results/x.md#b) [c](kafka.md) `[d](../e)` [f](https://g.example)"
    linked = with_links_into_the_site(text, "index.md", {"benchmarks/results/x.md": "results/x.md"})
    assert linked == "[a](results/x.md#b) [c](kafka.md) `[d](../e)` [f](https://g.example)"


def test_links_of_copies_point_into_the_site() -> None:
    copies = copied_files()
    assert with_links_into_the_site("[a](docs/design.md)", "contributing.md", copies) == "[a](design.md)"
    assert with_links_into_the_site("[a](docs/decisions)", "contributing.md", copies) == "[a](decisions/index.md)"


def test_code_is_taken_from_programs() -> None:
    assert code_of("examples/word_count.py", ["words"]) == (
        "```python\ndef words(line):\n    for word in WORD.findall(line.lower()):\n        yield word, 1\n```"
    )


def test_code_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(KeyError, match="sentences"):
        code_of("examples/word_count.py", ["sentences"])


def test_the_code_in_the_pages_is_that_of_the_examples() -> None:
    pages = {page: page.read_text() for page in PAGES}
    assert [page.name for page, text in pages.items() if with_snippets(text) != text] == []
    assert sum(text.count("<!-- code: ") for text in pages.values()) > 12


def test_the_index_of_decisions_is_complete() -> None:
    decisions = DOCS / "decisions"
    names = {path.name for path in decisions.glob("0*.md")}
    assert set(re.findall(r"\]\((\S+?)\)", (decisions / "index.md").read_text())) == names


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/get_started.md"])
def test_the_first_program_is_the_example(page: str) -> None:
    assert code_of("examples/to_be.py", []) in (ROOT / page).read_text()


def test_pages_start_no_modules_that_are_no_commands():
    """A module such as a TaskExecutor's is started by the cluster; one that users start is not accepted."""
    found = [
        (page.name, name) for page in PAGES for name in re.findall(r"python3? -m (firesteel[.\w]*)", page.read_text())
    ]
    assert [where for where in found if where[1] != "firesteel"] == []
