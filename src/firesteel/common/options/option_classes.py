"""What happens to each of Flink's options: it is effective, refused, or without counterpart.

Options of file systems and of deployments, of which Flink has no closed list, are classified in the same way.

Why: `docs/decisions/0038-three-classes-of-options.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cache

from firesteel.common.options.declared import effective_options
from firesteel.common.options.deprecated_keys import deprecated_keys
from firesteel.common.options.file_options import is_read
from firesteel.common.options.metric_options import is_read as is_of_reporter
from firesteel.common.options.option_rule import OptionRule, closest
from firesteel.common.options.options_without_counterpart import WITHOUT_COUNTERPART
from firesteel.common.options.refused_options import REFUSED
from firesteel.common.options.spark_counterparts import becomes_sparks

__all__ = ["OptionClass", "class_of", "rule_of"]


class OptionClass(Enum):
    """What happens to an option of Flink's."""

    EFFECTIVE = "it is read"
    REFUSED = "a submission with it fails, unless the value asks for what happens anyway"
    WITHOUT_COUNTERPART = "it has no meaning here: a submission names it once"


def class_of(key: str) -> OptionClass | None:
    """Return what happens to an option, or None if no table has it.

    Example:
        >>> class_of("parallelism.default"), class_of("taskmanager.memory.network.min")
        (<OptionClass.EFFECTIVE: 'it is read'>, <OptionClass.WITHOUT_COUNTERPART: ...>)
    """
    current = deprecated_keys().get(key, key)
    if key in effective_options() or is_read(key) or is_of_reporter(key) or becomes_sparks(current):
        return OptionClass.EFFECTIVE
    found = rule_of(key)
    if found is None:
        return None
    return OptionClass.REFUSED if found in REFUSED else OptionClass.WITHOUT_COUNTERPART


def rule_of(key: str) -> OptionRule | None:
    """Return the rule about an option that is not read: the one whose pattern fits its current key most closely."""
    return closest(_rules(), deprecated_keys().get(key, key))


@cache
def _rules() -> dict[str, OptionRule]:
    return _by_pattern(REFUSED) | _by_pattern(WITHOUT_COUNTERPART)


def _by_pattern(rules: Sequence[OptionRule]) -> dict[str, OptionRule]:
    return {pattern: rule for rule in rules for pattern in rule.names()}
