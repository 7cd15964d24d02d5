"""The commands that pages show, with their output, and how an output is compared with that of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from docs.generate.hooks import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROGRAM = re.compile(r"^Save this as `([\w.]+)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r"\d+(?:\\\.\d+)?(?=s$|\\ seconds)")


class Shown(NamedTuple):
    """A command at a prompt, and the lines below it."""

    command: str
    output: tuple[str, ...]


class Session(NamedTuple):
    """A block of a page in which commands are typed."""

    page: str
    number: int
    commands: tuple[Shown, ...]


def sessions() -> Iterator[Session]:
    """Yield the blocks with commands at a prompt of all pages."""
    for page in PAGES:
        blocks = [block for block in _BLOCK.findall(page.read_text()) if block.startswith("$ ")]
        for number, block in enumerate(blocks, 1):
            yield Session(str(page.relative_to(ROOT)), number, tuple(_shown(block)))


def _shown(block: str) -> Iterator[Shown]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *output = part.splitlines()
        yield Shown(command, tuple(line for line in output if line.strip()))


def programs(page: str) -> dict[str, str]:
    """Return the programs that a page asks to save, by the names of their files."""
    return dict(_PROGRAM.findall((ROOT / page).read_text()))


def differences(shown: tuple[str, ...], printed: str, told: str) -> list[str]:
    """Return how an output differs from what a page shows, up to order and to times.

    Args:
        shown: The lines of the page. `...` stands for more lines, or at the end of a line for the rest of it.
        printed: Standard output.
        told: Standard error, of which a page may leave out lines.
    """
    rest = [line.rstrip() for line in printed.splitlines() if line.strip()]
    others = [line.rstrip() for line in told.splitlines()]
    missing = []
    for expected in shown:
        found = next((line for line in (*rest, *others) if _is(expected, line)), None)
        if found is not None:
            (rest if found in rest else others).remove(found)
        elif expected != "...":
            missing.append(f"missing: {expected}")
    return missing if "..." in shown else missing + [f"not on the page: {line}" for line in rest]


def _is(expected: str, line: str) -> bool:
    text = _TIME.sub(r"[0-9.]+", re.escape(expected.rstrip()))
    if text.endswith(r"\.\.\.") and expected != "...":
        text = text.removesuffix(r"\.\.\.") + ".*"
    return expected != "..." and re.fullmatch(text, line) is not None
