"""Typed keys of settings (module as `pyflink.common.config_options`)."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ConfigOption(Generic[T]):
    """A key with the type of its value and a default (Flink: `configuration.ConfigOption`)."""

    def __init__(self, key: str, type_: type, default_value: T | None) -> None:
        self.key = key
        self.type = type_
        self.default_value = default_value

    def __repr__(self) -> str:
        return f"ConfigOption({self.key}: {self.type.__name__} = {self.default_value!r})"


class ConfigOptions:
    """Starts the definition of a `ConfigOption`.

    Example:
        >>> ConfigOptions.key("retries").int_type().default_value(3)
        ConfigOption(retries: int = 3)
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """A builder for the option of that key."""
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """Asks for the type of the value."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """A truth value."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """A whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """A whole number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """A number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """A number."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """A text."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """Asks for the default."""

        def __init__(self, key: str, type_: type) -> None:
            self._key = key
            self._type = type_

        def default_value(self, value: T) -> ConfigOption[T]:
            """The option with that default."""
            return ConfigOption(self._key, self._type, value)

        def no_default_value(self) -> ConfigOption[Any]:
            """The option without a default."""
            return ConfigOption(self._key, self._type, None)
