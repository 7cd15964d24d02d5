"""Configuration options by key (module as `pyflink.common.configuration`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import NoneType
from typing import Any, TypeVar

from firesteel.common.checks import require, with_class
from firesteel.common.java_objects import WithoutJava
from firesteel.common.options import kinds
from firesteel.common.options.deprecated_keys import with_current_keys
from firesteel.common.options.option import Option
from firesteel.common.options.sensitive_values import masked_value
from firesteel.common.time import Duration
from firesteel.common.values.java_parsing import parse_double

T = TypeVar("T")
_INTEGER = re.compile(r"[+-]?\d+")
_process_defaults: dict[str, str] = {}


class Configuration(WithoutJava):
    """Configuration options by key (Flink: `configuration.Configuration`).

    A value keeps the type that it was set with. The getters convert it by way of the text that a configuration file
    would contain.

    Args:
        other: A configuration whose options are copied; None starts with no options.

    Example:
        >>> configuration = Configuration()
        >>> configuration.set_integer("parallelism.default", 4).get_string("parallelism.default", "1")
        '4'
    """

    def __init__(self, other: Configuration | None = None) -> None:
        require(other, (Configuration, NoneType), "Configuration()")
        self._values: dict[str, Any] = dict(other._values) if other is not None else {}

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        """Return a configuration with the options of a dict.

        Args:
            map: Values by option key; a value that is not a string is converted by `str`.

        Raises:
            TypeError: a key is not a string, or a value is None.

        Example:
            >>> Configuration.from_dict({"parallelism.default": "4"}).get_integer("parallelism.default", 1)
            4
        """
        configuration = cls()
        for key, value in map.items():
            configuration.set_string(key, value if value is None else str(value))
        return configuration

    def get(self, option: Option[T]) -> T:
        """Return the value of an option of firesteel's, or its default if it is not set.

        Args:
            option: An option that `firesteel.common.options` declares.

        Raises:
            ValueError: the text is not a value of this option.

        Example:
            >>> from firesteel.common.options.pipeline_options import AUTO_WATERMARK_INTERVAL
            >>> Configuration().set_string(AUTO_WATERMARK_INTERVAL.key, "1 s").get(AUTO_WATERMARK_INTERVAL)
            1.0
        """
        return option.of(_Texts(self._values))

    def get_string(self, key: str, default_value: str) -> str:
        """Return the value of `key`, or the default if it is not set.

        Args:
            key: The key of the option; deprecated keys are recognised.
            default_value: Returned if neither the key nor a deprecated one is set.

        Raises:
            TypeError: the key is not a string, or the default is neither a string nor None.
        """
        require(default_value, (str, NoneType), f"the default of {key}")
        text = self._text(key)
        return default_value if text is None else text

    def set_string(self, key: str, value: str) -> Configuration:
        """Set the value of an option.

        Args:
            key: Key of the option, such as `parallelism.default`; any key is accepted.
            value: Replaces the present value.

        Raises:
            TypeError: the key or the value is not a string.
        """
        return self._set(key, value, str)

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """Return the boolean value of an option.

        Args:
            key: Key of the option.
            default_value: Returned if the option is not set.

        Raises:
            ValueError: the value is not a boolean.
        """
        text = self._text(key)
        return default_value if text is None else _parse_boolean(key, text)

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Set an option to `true` or `false`.

        Args:
            key: Key of the option.
            value: Replaces the present value; a text is parsed.

        Raises:
            TypeError: the key is not a string, or the value is neither a bool nor a text.
            ValueError: the value is a text other than of a boolean.
        """
        return self._set(key, _parse_boolean(key, value) if isinstance(value, str) else value, bool)

    def get_integer(self, key: str, default_value: int) -> int:
        """Return the integer value of an option.

        Args:
            key: Key of the option.
            default_value: Returned if the option is not set.

        Raises:
            ValueError: the value is not an integer.
        """
        text = self._text(key)
        return default_value if text is None else _parse_integer(key, text)

    def set_integer(self, key: str, value: int) -> Configuration:
        """Set the value of an option.

        Args:
            key: Key of the option.
            value: Replaces the present value; a text is parsed. It may have 64 bits.

        Raises:
            TypeError: the key is not a string, or the value is neither an int nor a text.
            ValueError: the value has more than 64 bits, or is a text other than of an integer.
        """
        if isinstance(value, bool):
            raise TypeError(f"{key} takes an int; found {with_class(value)}")
        return self._set(key, _parse_integer(key, str(value)) if isinstance(value, (int, str)) else value, int)

    def get_float(self, key: str, default_value: float) -> float:
        """Return the float value of an option.

        Args:
            key: Key of the option.
            default_value: Returned if the option is not set, as a float.

        Raises:
            TypeError: the default is not a number.
            ValueError: the value is not a number as Java writes them, such as `1e3`, `NaN` and `Infinity`.
        """
        require(default_value, (float, int), f"the default of {key}")
        text = self._text(key)
        return float(default_value) if text is None else _parse_float(key, text)

    def set_float(self, key: str, value: float) -> Configuration:
        """Set the value of an option.

        Args:
            key: Key of the option.
            value: Replaces the present value; converted by `float`.

        Raises:
            TypeError: the key is not a string, or the value is neither a number nor a text.
            ValueError: the value is a text other than of a number.
        """
        is_number = isinstance(value, (float, int))
        parsed = float(value) if is_number else _parse_float(key, value) if isinstance(value, str) else value
        return self._set(key, parsed, float)

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """Return the bytes that an option has as hexadecimal text.

        Args:
            key: Key of the option.
            default_value: Returned if the option is not set.

        Raises:
            TypeError: the default is neither a bytearray nor bytes.
            ValueError: the value is not hexadecimal text.
        """
        require(default_value, (bytearray, bytes), f"the default of {key}")
        text = self._text(key)
        try:
            return bytearray(default_value) if text is None else bytearray.fromhex(text)
        except ValueError as error:
            raise ValueError(f"{key}: {text!r} is not hexadecimal text: {error}") from None

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Set the value of an option, whose text is hexadecimal.

        Args:
            key: Key of the option.
            value: Replaces the present value; the bytes are copied.

        Raises:
            TypeError: the key is not a string, or the value is neither a bytearray nor bytes.
        """
        return self._set(key, bytes(value) if isinstance(value, bytearray) else value, bytes)

    def get_duration(self, key: str, default_value: Duration) -> Duration:
        """Return the duration of `key`, or the default if it is not set.

        A duration is written as `200 ms` or `5 min`; a number without a unit is milliseconds.

        Args:
            key: The key of an option such as `10 s`; a number alone is in ms.
            default_value: Returned if the option is not set.

        Raises:
            ValueError: the value is not a duration.
        """
        text = self._text(key)
        if text is None:
            return default_value
        try:
            return Duration.parse(text)
        except ValueError as error:
            raise ValueError(f"{key}: {text!r} is not a duration: {error}") from None

    def key_set(self) -> set[str]:
        """Return all keys that are set."""
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, Any]) -> None:
        """Add all options to a dict; values keep their types.

        Args:
            target_dict: Changed in place: options replace its values of the same keys.
        """
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Add all options of another configuration.

        Args:
            other: Its values replace those of the same keys here.
            prefix: Put in front of the keys of `other`; None adds nothing.
        """
        require(other, Configuration, "add_all()")
        require(prefix, (str, NoneType), "the prefix of add_all()")
        self._values.update({(prefix or "") + key: value for key, value in other._values.items()})
        return self

    def with_current_keys(self) -> Configuration:
        """Return a copy that has the values of deprecated keys under the current keys, too."""
        copy = Configuration()
        copy._values = with_current_keys(self._values)
        return copy

    def contains_key(self, key: str) -> bool:
        """Return whether an option is set.

        Args:
            key: Key of the option; defaults of options do not count.
        """
        return key in self._values

    def to_dict(self) -> dict[str, str]:
        """Return all options as a new dict of texts."""
        return {key: _as_text(value) for key, value in self._values.items()}

    def remove_config(self, key: str) -> bool:
        """Remove an option and return whether it was set.

        Args:
            key: Key of the option.
        """
        return self._values.pop(key, None) is not None

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """Return the items of a list value: `a;b`, or a YAML list (`[a, b]`, or lines that begin with `- `).

        Args:
            value: The text.
        """
        if not value:
            return []
        text = value.strip()
        if text.startswith(("[", "- ")):
            from firesteel.common.options.core_schema import load_yaml  # late import: few programs have lists

            items = load_yaml(text)
            assert isinstance(items, list)
            return [_as_text(item) for item in items]
        return [item.strip() for item in text.split(";") if item.strip()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.to_dict().items()))

    def __str__(self) -> str:
        """Return all keys and values, with secrets masked."""
        return f"{{{', '.join(f'{key}={masked_value(key, value)}' for key, value in self.to_dict().items())}}}"

    def _set(self, key: str, value: object, kind: type) -> Configuration:
        require(key, str, "the key of an option")
        require(value, kind, key)
        self._values[key] = value
        return self

    def _text(self, key: str) -> str | None:
        require(key, str, "the key of an option")
        return _as_text(self._values[key]) if key in self._values else None


class _Texts:
    """The texts of values that keep their types."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def get(self, key: str) -> str | None:
        return _as_text(self._values[key]) if key in self._values else None


def _parse_integer(key: str, text: str) -> int:
    # Python's int() also takes blanks and underscores.
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{key}: {text!r} is not an integer")
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(f"{key}: {text} has more than 64 bits")
    return value


def _parse_float(key: str, text: str) -> float:
    try:
        return parse_double(text)
    except ValueError:
        raise ValueError(f"{key}: {text!r} is not a number") from None


def _parse_boolean(key: str, text: str) -> bool:
    try:
        if text != text.strip():
            raise ValueError(f"{text!r} is not a boolean; allowed: true, false")
        return kinds.boolean.parse(text)
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _as_text(value: object) -> str:
    if isinstance(value, float):
        from firesteel.common.values.java_text import double_text  # late import: few programs have such an option

        return double_text(value)
    return value.hex() if isinstance(value, bytes) else kinds.text_of(value)


def set_default_options(options: Mapping[str, str]) -> None:
    """Set the default options of all environments of this process, which `firesteel run -D` and `-p` give."""
    _process_defaults.clear()
    _process_defaults.update({key: str(value) for key, value in options.items()})


def default_options() -> dict[str, str]:
    """Return the default options of all environments of this process."""
    return dict(_process_defaults)
