"""An option: its key, the type of its value, its default and what it does, declared in one place.

The files of this folder declare all options that firesteel reads, one file per area. Code that needs one reads it by
`OPTION.of(configuration)`, and the documentation, the check of configurations and the list of options that have an
effect (`option_classes`) are made from the declarations.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar, overload

from firesteel.common.options.deprecated_keys import deprecated_keys_of
from firesteel.common.options.kinds import Kind
from firesteel.errors import FiresteelError

__all__ = ["InvalidOptionError", "Option"]

T = TypeVar("T")
S = TypeVar("S")


class InvalidOptionError(FiresteelError, ValueError):
    """An option has an invalid value, or is one that firesteel does not have."""


class _Texts(Protocol):
    """What an option is read from: a dict of texts."""

    def get(self, key: str, /) -> str | None: ...


class Option(Generic[T]):
    """An option with the type of its value.

    Args:
        key: The key, as in Flink if Flink has the option.
        kind: How its text is read.
        default: The text that counts if the option is not set; None for an option without a default, which is then
            read as None.
        effect: What it does, for the documentation (Markdown).
        shown: What the documentation says in place of the default.
        fallback: Keys that are read if `key` is not set, besides those that Flink has deprecated.

    Example:
        >>> from firesteel.common.options.kinds import duration
        >>> PATIENCE = Option("my.patience", duration, "200 ms", "How long to wait")
        >>> PATIENCE.of({}), PATIENCE.of({"my.patience": "5 s"})
        (0.2, 5.0)
    """

    @overload
    def __init__(
        self: Option[S],
        key: str,
        kind: Kind[S],
        default: str,
        effect: str,
        *,
        shown: str = "",
        fallback: tuple[str, ...] = (),
    ) -> None: ...

    @overload
    def __init__(
        self: Option[S | None],
        key: str,
        kind: Kind[S],
        default: None,
        effect: str,
        *,
        shown: str = "",
        fallback: tuple[str, ...] = (),
    ) -> None: ...

    def __init__(
        self,
        key: str,
        kind: Kind[Any],
        default: str | None,
        effect: str,
        *,
        shown: str = "",
        fallback: tuple[str, ...] = (),
    ) -> None:
        self.key = key
        self.kind: Kind[Any] = kind
        self.default = default
        self.effect = effect
        self.shown = shown or ("none" if default is None else "")
        self._fallback = fallback

    def __repr__(self) -> str:
        return f"Option({self.key})"

    def __str__(self) -> str:
        return self.key

    @cached_property
    def default_value(self) -> T:
        """The value if the option is not set."""
        return self.kind.parse(self.default) if self.default is not None else None  # type: ignore[return-value]

    @cached_property
    def fallback_keys(self) -> tuple[str, ...]:
        """Keys that are read if the current one is not set."""
        keys = (self.key, *self._fallback)
        return tuple(key for one in keys for key in (one, *deprecated_keys_of(one)))[1:]

    def of(self, configuration: _Texts) -> T:
        """Return the value that a configuration has for this option, or the default.

        Args:
            configuration: Texts by key.

        Raises:
            InvalidOptionError: the text is not a value of this option.
        """
        text = configuration.get(self.key)
        if text is not None:
            return self.parse(text)
        key = self.key_in(configuration)
        text = configuration.get(key)
        return self.default_value if text is None else self.parse(text, key)

    def text_in(self, configuration: _Texts) -> str | None:
        """Return the text that a configuration has for this option, or None if it is not set."""
        text = configuration.get(self.key)
        return configuration.get(self.key_in(configuration)) if text is None else text

    def key_in(self, configuration: _Texts) -> str:
        """Return the key under which a configuration has this option, or the current one if it is not set."""
        keys = (self.key, *self.fallback_keys)
        return next((key for key in keys if configuration.get(key) is not None), self.key)

    def required(self, configuration: _Texts) -> str:
        """Return the text of an option that other configured options require.

        Raises:
            InvalidOptionError: it is not set, or empty.
        """
        text = (self.text_in(configuration) or "").strip()
        if not text:
            raise InvalidOptionError(f"option {self.key!r} is not set, but other configured options require it")
        return text

    def parse(self, text: str, key: str | None = None) -> T:
        """Return the value of a text.

        Args:
            text: The text.
            key: The key that it has been given under, for the message; None for the current one.

        Raises:
            InvalidOptionError: the text is not a value of this option; the message says what is allowed.
        """
        try:
            value: T = self.kind.parse(text)
        except ValueError as error:
            raise InvalidOptionError(f"option {key or self.key!r}: {error}") from None
        return value
