"""Options of connectors and formats, checked. Flink: `FactoryUtil.TableFactoryHelper`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from firesteel.common.meant import meant
from firesteel.common.options.memory_size import parse_bytes
from firesteel.common.options.sensitive_values import masked_value
from firesteel.common.table_errors import ValidationException
from firesteel.common.time import Duration

_logger = logging.getLogger(__name__)
_COMMON = ("connector", "property-version", "scan.parallelism", "sink.parallelism")
_UNSUPPORTED = ("scan.watermark.emit.strategy", "scan.watermark.alignment.group",
                "scan.watermark.alignment.max-drift", "scan.watermark.alignment.update-interval",
                "scan.watermark.idle-timeout")  # fmt: skip


class Options:
    """The options of a connector or format, which are validated when they are read.

    Args:
        values: Option and value.
        owner: The connector or format, for messages.
        warns_of_unknown: Whether unknown options are a warning rather than an error.

    Example:
        >>> options = Options({"connector": "squares", "count": "3"}, "squares")
        >>> options.check(required=["count"], optional=["delay"])
        >>> options.number("count"), options.duration_ms("delay", 10)
        (3, 10)
    """

    def __init__(self, values: Mapping[str, str], owner: str, *, warns_of_unknown: bool = False) -> None:
        self.values = dict(values)
        self.owner = owner
        self._warns_of_unknown = warns_of_unknown

    def check(self, required: Iterable[str], optional: Iterable[str], prefixes: tuple[str, ...] = ()) -> None:
        """Check that no option is missing or unknown.

        Args:
            required: The required options.
            optional: The optional options.
            prefixes: Prefixes of options that are passed on, for example to formats.

        Raises:
            ValidationException: an option is missing or unknown; the message lists the supported ones.
        """
        missing = [key for key in required if key not in self.values]
        if missing:
            raise ValidationException(
                f"One or more required options are missing.\n\nMissing required options are:\n\n"
                f"{chr(10).join(sorted(missing))}"
            )
        refused = sorted(self.values.keys() & set(_UNSUPPORTED) - set(optional))
        if refused:
            raise ValidationException(f"Option '{refused[0]}' is not supported")
        known = {*required, *optional, *_COMMON}
        unknown = [key for key in self.values if key not in known and not key.startswith(prefixes or ("\0",))]
        if unknown and self._warns_of_unknown:
            _warn(self.owner, " or ".join(sorted(unknown)))
        elif unknown:
            hints = "\n".join(key + meant(key, known) for key in sorted(unknown))
            raise ValidationException(
                f"Unsupported options found for '{self.owner}'.\n\nUnsupported options:\n\n"
                f"{hints}\n\nSupported options:\n\n{chr(10).join(sorted(known))}"
            )

    def below(self, prefix: str, owner: str, *, warns_of_unknown: bool = False) -> Options:
        """Return the options that begin with a prefix, without it."""
        found = {key[len(prefix) :]: value for key, value in self.values.items() if key.startswith(prefix)}
        return Options(found, owner, warns_of_unknown=warns_of_unknown)

    def text(self, key: str, default: str = "") -> str:
        """Return an option as it is."""
        return self.values.get(key, default)

    def flag(self, key: str, default: bool = False) -> bool:
        """Return an option that is `true` or `false`."""
        text = self.values.get(key)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise self.invalid(key, "true or false")
        return text.lower() == "true"

    def number(self, key: str, default: object = None) -> Any:
        """Return an option that is an integer."""
        text = self.values.get(key)
        if text is None:
            return default
        try:
            return int(text)
        except ValueError:
            raise self.invalid(key, "an integer") from None

    def duration_ms(self, key: str, default: int | None = None) -> int | None:
        """Return an option that is a duration such as `10 s`, in milliseconds."""
        text = self.values.get(key)
        if text is None:
            return default
        try:
            return Duration.parse(text).to_millis()
        except ValueError:
            raise self.invalid(key, "a duration such as '10 s'") from None

    def positive(self, key: str, default: int) -> int:
        """Return an option that is an integer above zero."""
        found: int = self.number(key, default)
        if found < 1:
            raise self.invalid(key, "an integer above zero")
        return found

    def size_bytes(self, key: str, default: str) -> int:
        """Return an option that is a size such as `2mb`, in bytes."""
        try:
            return parse_bytes(self.text(key, default))
        except ValueError:
            raise self.invalid(key, f"a size such as '{default}'") from None

    def choice(self, key: str, allowed: tuple[str, ...], default: str) -> str:
        """Return an option that is one of several words."""
        text = self.values.get(key, default).lower()
        if text not in allowed:
            raise self.invalid(key, f"one of {', '.join(allowed)}")
        return text

    def character(self, key: str, default: str | None) -> str | None:
        r"""Return an option that is one character, also written as `\t` or `\u0001`."""
        text = self.values.get(key)
        if text is None:
            return default
        text = text.encode().decode("unicode_escape") if text.startswith("\\") and len(text) > 1 else text
        if len(text) != 1:
            raise self.invalid(key, "one character")
        return text

    def invalid(self, key: str, wanted: str) -> ValidationException:
        """Return the error for an option that does not fit."""
        # Errors are logged, and shown on dashboards.
        found = masked_value(key, str(self.values.get(key)))
        return ValidationException(
            f"Invalid value for option '{key}' of '{self.owner}': expected {wanted}, found '{found}'"
        )


def parallelism_option(options: Mapping[str, str], key: str) -> int | None:
    """Return `scan.parallelism` or `sink.parallelism`, None where it is not set.

    Raises:
        ValidationException: it is not a positive integer.
    """
    number: int | None = Options(options, options.get("connector", "")).number(key)
    if number is not None and number < 1:
        raise ValidationException(f"Invalid configured parallelism {number} of option '{key}': it should be positive")
    return number


@cache
def _warn(owner: str, unknown: str) -> None:
    """Warn once in a process: a format is made several times for a table."""
    _logger.warning("'%s' has no option %s: it has no effect", owner, unknown)
