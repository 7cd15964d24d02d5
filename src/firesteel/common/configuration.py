"""Settings as Flink names them: text by key (module as `pyflink.common.configuration`)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from firesteel.common.java_objects import WithoutJava
from firesteel.common.time import Duration

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_process_defaults: dict[str, str] = {}


class Configuration(WithoutJava):
    """Settings by key; every value is kept as the text that a configuration file would hold.

    Example:
        >>> configuration = Configuration()
        >>> configuration.set_integer("parallelism.default", 4).get_string("parallelism.default", "1")
        '4'
    """

    def __init__(self, other: Configuration | None = None) -> None:
        self._values: dict[str, str] = dict(other._values) if other is not None else {}

    @classmethod
    def from_dict(cls, map: Mapping[str, str]) -> Configuration:
        """A configuration of these settings."""
        configuration = cls()
        for key, value in map.items():
            configuration.set_string(key, value)
        return configuration

    def get_string(self, key: str, default_value: str) -> str:
        """The value of `key`, else the default."""
        return self._values.get(key, default_value)

    def set_string(self, key: str, value: str) -> Configuration:
        """Sets the value of `key`."""
        self._values[key] = str(value)
        return self

    def get_boolean(self, key: str, default_value: bool) -> bool:
        """The truth value of `key`, else the default.

        Raises:
            ValueError: the value is neither `true` nor `false`.
        """
        text = self._values.get(key)
        if text is None:
            return default_value
        if text.strip().lower() not in _TRUE + _FALSE:
            raise ValueError(f"{key}: {text!r} is no truth value; write true or false")
        return text.strip().lower() in _TRUE

    def set_boolean(self, key: str, value: bool) -> Configuration:
        """Sets the value of `key` to `true` or `false`."""
        return self.set_string(key, "true" if value else "false")

    def get_integer(self, key: str, default_value: int) -> int:
        """The whole number under `key`, else the default.

        Raises:
            ValueError: the value is no whole number.
        """
        text = self._values.get(key)
        if text is None:
            return default_value
        try:
            return int(text)
        except ValueError:
            raise ValueError(f"{key}: {text!r} is no whole number") from None

    def set_integer(self, key: str, value: int) -> Configuration:
        """Sets the value of `key`."""
        return self.set_string(key, str(value))

    def get_float(self, key: str, default_value: float) -> float:
        """The number under `key`, else the default.

        Raises:
            ValueError: the value is no number.
        """
        text = self._values.get(key)
        if text is None:
            return default_value
        try:
            return float(text)
        except ValueError:
            raise ValueError(f"{key}: {text!r} is no number") from None

    def set_float(self, key: str, value: float) -> Configuration:
        """Sets the value of `key`."""
        return self.set_string(key, repr(value))

    def get_bytearray(self, key: str, default_value: bytearray) -> bytearray:
        """The bytes under `key`, else the default."""
        text = self._values.get(key)
        return default_value if text is None else bytearray.fromhex(text)

    def set_bytearray(self, key: str, value: bytearray) -> Configuration:
        """Sets the value of `key` to these bytes."""
        return self.set_string(key, bytes(value).hex())

    def get_duration(self, key: str, default_value: Duration) -> Duration:
        """The duration under `key` (`200 ms`, `5 min`; a bare number is milliseconds), else the default.

        Raises:
            ValueError: the value is no duration.
        """
        text = self._values.get(key)
        if text is None:
            return default_value
        try:
            return Duration.parse(text)
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None

    def key_set(self) -> set[str]:
        """All keys that have a value."""
        return set(self._values)

    def add_all_to_dict(self, target_dict: dict[str, str]) -> None:
        """Adds all settings to a dict."""
        target_dict.update(self._values)

    def add_all(self, other: Configuration, prefix: str | None = None) -> Configuration:
        """Takes over all settings of `other`, their keys behind `prefix`."""
        self._values.update({(prefix or "") + key: value for key, value in other._values.items()})
        return self

    def contains_key(self, key: str) -> bool:
        """True if `key` has a value."""
        return key in self._values

    def to_dict(self) -> dict[str, str]:
        """All settings as a new dict."""
        return dict(self._values)

    def remove_config(self, key: str) -> bool:
        """Removes `key`; False if it had no value."""
        return self._values.pop(key, None) is not None

    @staticmethod
    def parse_list_value(value: str) -> list[str]:
        """The items of a list value, written `a;b` or `[a, b]`."""
        if not value:
            return []
        text = value.strip()
        if text.startswith("["):
            try:
                return [str(item) for item in json.loads(text)]
            except ValueError:
                return [item.strip(" '\"") for item in text.strip("[]").split(",") if item.strip()]
        return [item.strip() for item in text.split(";") if item.strip()]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __str__(self) -> str:
        return f"{{{', '.join(f'{key}={value}' for key, value in self._values.items())}}}"


def set_default_options(options: Mapping[str, str]) -> None:
    """Sets the options that every environment of this process starts from (what `firesteel run -D` and `-p` give)."""
    _process_defaults.clear()
    _process_defaults.update({key: str(value) for key, value in options.items()})


def default_options() -> dict[str, str]:
    """The options that every environment of this process starts from."""
    return dict(_process_defaults)
