"""The reference of options, written from their declarations and from the tables of those that are not read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from firesteel.common.options.declared import AREAS, options_of
from firesteel.common.options.known_options import flink_options
from firesteel.common.options.option import Option
from firesteel.common.options.option_classes import OptionClass, class_of, rule_of
from firesteel.common.options.option_rule import OptionRule
from firesteel.common.options.options_without_counterpart import WITHOUT_COUNTERPART
from firesteel.common.options.refused_options import REFUSED

__all__ = ["options_table", "options_without_counterpart", "refused_options"]


def options_table() -> str:
    """Return a section of Markdown per area of options that have an effect, one table each."""
    lines = []
    for area, modules in AREAS.items():
        lines += ["", f"### {area}", "", "| option | type | default | effect |", "|---|---|---|---|"]
        lines += [_row(option) for option in options_of(*modules)]
    return "\n".join(lines)


def _row(option: Option[Any]) -> str:
    default = option.shown or (f"`{option.default}`" if option.default else "")
    return f"| {_code(option.key)} | {option.kind.name} | {default} | {option.effect} |"


def _code(name: str) -> str:
    return f"<code>{name.replace('.', '.<wbr>')}</code>"  # so that long names break after a dot


def refused_options() -> str:
    """Return a table of the options that are refused, with the reason and the values that are accepted."""
    lines = ["| options | accepted values | reason |", "|---|---|---|"]
    for rule in REFUSED:
        names = ", ".join(_code(name) for name in _current_names(rule, OptionClass.REFUSED))
        accepted = ", ".join(f"`{value}`" for value in rule.accepted if value) or "none"
        lines.append(f"| {names} | {accepted} | {rule.reason} |")
    return "\n".join(lines)


def options_without_counterpart() -> str:
    """Return a table of the options that have no meaning here, with the reason."""
    lines = ["| options | reason |", "|---|---|"]
    for rule in WITHOUT_COUNTERPART:
        lines.append(f"| {', '.join(_code(name) for name in rule.names())} | {rule.reason} |")
    return "\n".join(lines)


def _current_names(rule: OptionRule, expected: OptionClass) -> Sequence[str]:
    exact: Iterable[str] = (name for name in rule.names() if not name.endswith(".*"))
    found = {name for name in flink_options() if rule_of(name) is rule and class_of(name) is expected}
    return sorted({*exact, *(name for name in found if any(name.startswith(one[:-1]) for one in rule.names()))})
