"""The check of options, shared by all that sets some: files, `-D`, programs, SET in SQL, and submissions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from firesteel.common.options.declared import declared_options
from firesteel.common.options.known_options import misspelt_option
from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.option_classes import OptionClass, class_of, rule_of

__all__ = ["check_option", "check_options", "note_without_counterpart"]


def check_options(options: Mapping[str, str]) -> None:
    """Check all options of a configuration; see `check_option`.

    Raises:
        InvalidOptionError: an option is misspelt, refused, or does not have this value.
    """
    for key, value in options.items():
        check_option(key, value)


def check_option(key: str, value: str) -> None:
    """Check an option where it is set.

    Args:
        key: The key; deprecated ones are known.
        value: The text of its value.

    Raises:
        InvalidOptionError: the option is misspelt, refused, or does not have this value.

    Example:
        >>> check_option("execution.checkpointing.interval", "10 sek")
        Traceback (most recent call last):
        ...
        firesteel.common.options.option.InvalidOptionError: option 'execution.checkpointing.interval': '10 sek' is ...
    """
    if (option := declared_options().get(key)) is not None:
        option.parse(value, key)
    if class_of(key) is OptionClass.REFUSED:
        _check_accepted(key, value)
    elif (nearest := misspelt_option(key)) is not None:
        raise InvalidOptionError(f"there is no option {key!r}; did you mean {nearest!r}?")


def _check_accepted(key: str, value: str) -> None:
    rule = rule_of(key)
    assert rule is not None
    if value.strip().lower() not in rule.accepted:
        allowed = f"; allowed: {', '.join(repr(one) for one in rule.accepted)}" if rule.accepted else ""
        # The value is not shown, as it may be a secret.
        raise InvalidOptionError(f"option {key!r} is not supported here: {rule.reason}{allowed}")


def note_without_counterpart(keys: Iterable[str]) -> str | None:
    """Return a message that names the options without counterpart, or None if there are none.

    Example:
        >>> note_without_counterpart(["parallelism.default", "taskmanager.memory.network.min"])
        'these options of Flink have no counterpart here and no effect: taskmanager.memory.network.min'
    """
    named = sorted(key for key in keys if class_of(key) is OptionClass.WITHOUT_COUNTERPART)
    return f"these options of Flink have no counterpart here and no effect: {', '.join(named)}" if named else None
