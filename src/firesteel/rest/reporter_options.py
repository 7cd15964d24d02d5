"""The options of reporters of metrics, traces and events, by the name that the user gives to each.

Flink: `runtime.metrics.ReporterSetupBuilder`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from firesteel.common.options.option import InvalidOptionError
from firesteel.common.time import Duration

__all__ = ["FACTORY", "ReporterOptions", "named_reporters"]

FACTORY: Final = "factory.class"


@dataclass(frozen=True, slots=True)
class ReporterOptions:
    """The options of one reporter.

    Attributes:
        prefix: The beginning of their keys, such as `traces.reporter.`.
        name: The name of the reporter.
        values: The options by the rest of their keys.
    """

    prefix: str
    name: str
    values: Mapping[str, str]

    def key(self, option: str) -> str:
        """Return the whole key of an option."""
        return f"{self.prefix}{self.name}.{option}"

    def check(self, allowed: Collection[str]) -> None:
        """Check that all options are known.

        Raises:
            InvalidOptionError: one is not.
        """
        if unknown := sorted(self.values.keys() - set(allowed)):
            raise InvalidOptionError(f"option {self.key(unknown[0])!r} is not known; allowed: {', '.join(allowed)}")

    def factory(self, known: Collection[str], instead: Mapping[str, str]) -> str:
        """Return the class of the reporter.

        Args:
            known: The classes that there are.
            instead: What to do instead of other classes of Flink's.

        Raises:
            InvalidOptionError: it is not one of them.
        """
        factory = self.values.get(FACTORY, "")
        if factory not in known:
            advice = instead.get(factory, f"allowed: {', '.join(known)}")
            raise InvalidOptionError(f"option {self.key(FACTORY)!r} is {factory!r}; {advice}")
        return factory

    def choice(self, option: str, allowed: Collection[str], default: str) -> str:
        """Return an option that is one of several words, in lower case.

        Raises:
            InvalidOptionError: it is another.
        """
        text = self.values.get(option, default).strip().lower()
        if text not in allowed:
            raise InvalidOptionError(f"option {self.key(option)!r} is {text!r}, expected {' or '.join(allowed)}")
        return text

    def duration_s(self, option: str, default: str) -> float:
        """Return an option in seconds.

        Raises:
            InvalidOptionError: it is no duration.
        """
        try:
            return Duration.parse(self.values.get(option, default)).to_millis() / 1000
        except ValueError as error:
            raise InvalidOptionError(f"option {self.key(option)!r}: {error}") from None


def named_reporters(configuration: Mapping[str, str], prefix: str, names: str | None) -> list[ReporterOptions]:
    """Return the reporters of a kind: those that are named, or all that have options."""
    options: dict[str, dict[str, str]] = {}
    for key, value in configuration.items():
        if key.startswith(prefix):
            name, _, option = key.removeprefix(prefix).partition(".")
            options.setdefault(name, {})[option] = value
    wanted = list(options) if names is None else [name.strip() for name in names.split(",") if name.strip()]
    return [ReporterOptions(prefix, name, options.get(name, {})) for name in wanted]
