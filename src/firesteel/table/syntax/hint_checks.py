"""Checks of the options of hints. Flink: `FlinkHintStrategies`."""

from __future__ import annotations

import re
from collections.abc import Callable

from firesteel.common.table_errors import ValidationException
from firesteel.common.time import Duration
from firesteel.table.syntax.queries import Hint
from firesteel.table.syntax.unresolved import where

OPTIONS = "OPTIONS"
STATE_TTL = "STATE_TTL"
LOOKUP = "LOOKUP"
TABLE_LISTS = ("BROADCAST", "SHUFFLE_HASH", "SHUFFLE_MERGE", "NEST_LOOP", "MULTI_JOIN")
"""Hints whose options are names of inputs of joins. They choose algorithms, so they do not change results."""

_RETRY = ("retry-predicate", "retry-strategy", "fixed-delay", "max-attempts")


def table_options(hints: tuple[Hint, ...]) -> dict[str, str]:
    """Return the options of a table's hint OPTIONS; the first one counts, as in Flink."""
    return next((dict(hint.pairs) for hint in hints if hint.name.upper() == OPTIONS), {})


def check_hint(hint: Hint) -> None:
    """Check the name and the options of a hint.

    Raises:
        ValidationException: there is no such hint, or it does not have such options.
    """
    check = _CHECKS.get(hint.name.upper())
    if check is None:
        raise ValidationException(
            f"SQL validation failed. {where(hint.position, hint.name)}Hint: {hint.name} should be registered in the "
            f"HintStrategyTable; known hints: {', '.join(_CHECKS)}"
        )
    problem = check(hint)
    if problem:
        raise ValidationException(f"SQL validation failed. {where(hint.position, hint.name)}{problem}")


def _options_problem(hint: Hint) -> str:
    return "" if hint.pairs else "Hint [OPTIONS] only support non empty key value options"


def _tables_problem(hint: Hint) -> str:
    if hint.items:
        return ""
    name, pairs = hint.name.upper(), ", ".join(f"{key}={value}" for key, value in hint.pairs)
    text = f"{name}({pairs})" if pairs else name
    return f"Invalid hint: {text}, expecting at least one table or view specified in hint {name}."


def _state_ttl_problem(hint: Hint) -> str:
    if hint.items:
        return "Invalid list options in STATE_TTL hint, only support key-value options."
    if not hint.pairs:
        return "Invalid STATE_TTL hint, expecting at least one key-value options specified."
    try:
        for _, value in hint.pairs:
            Duration.parse(value)
    except ValueError as error:
        return f"Invalid STATE_TTL hint value: {error}"
    return ""


def _lookup_problem(hint: Hint) -> str:
    if hint.items:
        return "Invalid list options in LOOKUP hint, only support key-value options."
    options = dict(hint.pairs)
    if "table" not in options:
        missing = "[Key: 'table' , default: null (fallback keys: [])]"
        return f"Invalid LOOKUP hint: incomplete required option(s): {missing}"
    for key, fits in _LOOKUP_OPTIONS.items():
        if key in options and not fits(options[key]):
            return f"Invalid LOOKUP hint options: Could not parse value '{options[key]}' for key '{key}'."
    for key in ("capacity", "max-attempts"):
        if key in options and int(options[key]) <= 0:
            return f"Invalid LOOKUP hint option: {key} value should be positive integer but was {options[key]}"
    if len({key in options for key in _RETRY}) > 1:
        return "Invalid LOOKUP hint: retry options can be both null or all not null"
    predicate = options.get("retry-predicate", "lookup_miss")
    if predicate != "lookup_miss":
        allowed = "only 'lookup_miss' is supported currently"
        return f"Invalid LOOKUP hint option: unsupported retry-predicate '{predicate}', {allowed}"
    return ""


def _is_duration(text: str) -> bool:
    try:
        Duration.parse(text)
    except ValueError:
        return False
    return True


def _is_boolean(text: str) -> bool:
    return text.strip().lower() in ("true", "false")


def _is_integer(text: str) -> bool:
    return re.fullmatch(r"[-+]?\d{1,9}", text.strip(), re.ASCII) is not None


_LOOKUP_OPTIONS: dict[str, Callable[[str], bool]] = {
    "async": _is_boolean,
    "shuffle": _is_boolean,
    "output-mode": lambda text: text.strip().lower() in ("ordered", "allow_unordered"),
    "capacity": _is_integer,
    "timeout": _is_duration,
    "retry-strategy": lambda text: text.strip().lower() == "fixed_delay",
    "fixed-delay": _is_duration,
    "max-attempts": _is_integer,
}
"""The options of LOOKUP whose values have a type, and whether a text is such a value."""

_CHECKS: dict[str, Callable[[Hint], str]] = {
    OPTIONS: _options_problem,
    STATE_TTL: _state_ttl_problem,
    LOOKUP: _lookup_problem,
    **dict.fromkeys(TABLE_LISTS, _tables_problem),
}
"""What is wrong with the options of a hint, empty if nothing is."""
