"""List changed messages that tests, documentation or examples still quote in their old form.

    python -m tests.changed_messages [REVISION]

The messages are the string literals in `src` without docstrings. A literal of a Python file in `PLACES`, or a code span
or line of a Markdown file, quotes an old message if all its words, at least `WORDS`, stand in a message of the revision
(default: `main`), but in none of today's. The exit code is 1 if there are any quotes, so that a change of wording is
complete before a slow test fails.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACES = ("tests", "docs", "examples", "benchmarks", "README.md")
WORDS = 3


def literals(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and text of each string literal except docstrings; of an f-string each constant part."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.lineno, node.value


def spans(text: str) -> Iterator[tuple[int, str]]:
    """Yield line number and text of each line of a Markdown file, and of each code span in it."""
    for number, line in enumerate(text.splitlines(), 1):
        yield number, line
        yield from ((number, span) for span in re.findall(r"`([^`]+)`", line))


def words(text: str) -> str:
    """Return the words of a text between spaces; escapes of regular expressions and other signs are left out."""
    return " ".join(["", *re.findall(r"[\w$%.-]*\w", text.replace("\\", "")), ""])


def parts(text: str) -> list[str]:
    """Return the words of each part of a regular expression between wildcards."""
    found = [words(part) for part in re.split(r"\.[*+]|\\d\+?|\\S\+?|\[[^\]]*\][*+]", text)]
    return [part for part in found if part.count(" ") > WORDS]


def old_quotes(
    before: Iterable[str], now: Iterable[str], texts: Iterable[tuple[int, str]]
) -> Iterator[tuple[int, str]]:
    """Yield line number and old message of each text whose words an old message contains, but none of today's."""
    current = {words(message) for message in now}
    removed = {words(message): message for message in before if words(message) not in current}
    old, new = "\n".join(removed), "\n".join(current)
    gone = [key for key in removed if key.count(" ") > WORDS and key not in new]
    for number, text in texts:
        for part in parts(text):
            # A quote is a piece of an old message, or it has a piece in it where the message has values between pieces.
            if part in old and part not in new:
                found = next(key for key in removed if part in key)
            else:
                found = next((key for key in gone if key in part), None)
            if found is not None:
                yield number, removed[found]
                break


def messages(revision: str) -> set[str]:
    """Return the messages that `src` had at a revision."""
    archive = subprocess.run(["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    found: set[str] = set()
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            content = files.extractfile(member) if member.name.endswith(".py") else None
            if content is not None:
                found.update(text for _, text in literals(content.read().decode()))
    return found


def main(revision: str = "main") -> int:
    """Print a line `FILE:LINE: quotes ...` per quote of an old message; return 1 if there are any."""
    before = messages(revision)
    now = {text for path in (ROOT / "src").rglob("*.py") for _, text in literals(path.read_text())}
    count = 0
    for place in PLACES:
        start = ROOT / place
        for path in [start] if start.is_file() else sorted(start.rglob("*")):
            reader = {".py": literals, ".md": spans}.get(path.suffix)
            if reader is not None:
                for line, message in old_quotes(before, now, reader(path.read_text())):
                    print(f"{path.relative_to(ROOT)}:{line}: quotes {message!r}")
                    count += 1
    print(f"{count} quotes of messages that have changed since {revision}")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
