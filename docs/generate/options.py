"""The reference of options, written from `options.txt` beside this file.

`tests/docs/test_options.py` holds that file against the sources: every option that they read is in it, with the type
and the default that they use.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Option", "documented_options", "options_table"]

_TEXT = Path(__file__).with_name("options.txt")


@dataclass(frozen=True, slots=True)
class Option:
    """An option as documented.

    Attributes:
        group: Heading of the table that it is in.
        name: Its key.
        kind: Type of its value.
        default: Default value as written in the table, in plain text.
        effect: What it does.
    """

    group: str
    name: str
    kind: str
    default: str
    effect: str


def documented_options() -> list[Option]:
    """Return all documented options in the order of the page."""
    options, group = [], ""
    for line in _TEXT.read_text().splitlines():
        if line.startswith("# "):
            group = line.removeprefix("# ")
        elif line.strip():
            name, kind, default, effect = (cell.strip() for cell in line.split("|", 3))
            options.append(Option(group, name, kind, default, effect))
    return options


def options_table() -> str:
    """Return a section of Markdown per group of options, one table each."""
    lines, group = [], ""
    for option in documented_options():
        if option.group != group:
            group = option.group
            lines += ["", f"### {group}", "", "| option | type | default | effect |", "|---|---|---|---|"]
        default = f"`{option.default}`" if option.default and not option.default.startswith("(") else option.default
        name = option.name.replace(".", ".<wbr>")  # so that long names break after a dot
        lines.append(f"| <code>{name}</code> | {option.kind} | {default.strip('()')} | {option.effect} |")
    return "\n".join(lines)
