"""Typed configuration options (module as `pyflink.common.config_options`)."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

T = TypeVar("T")


class ConfigOption(Generic[T]):
    """A key with the type of its value and a default value (Flink: `configuration.ConfigOption`).

    `ConfigOptions.key` starts a builder of options.

    Args:
        key: Key of the option, such as `parallelism.default`.
        type_: Python type of the value, such as `int`; values are not checked against it.
        default_value: Value of an option that is not set; None for no default.

    Example:
        >>> rows = ConfigOptions.key("number-of-rows").int_type().default_value(10)
        >>> rows
        ConfigOption(number-of-rows: int = 10)
        >>> descriptor = TableDescriptor.for_connector("datagen").option(rows, 100).build()
    """

    def __init__(self, key: str, type_: type, default_value: T | None) -> None:
        self.key = key
        self.type = type_
        self.default_value = default_value

    def __repr__(self) -> str:
        return f"ConfigOption({self.key}: {self.type.__name__} = {self.default_value!r})"


class ConfigOptions:
    """Entry point to define a `ConfigOption`.

    Example:
        >>> ConfigOptions.key("retries").int_type().default_value(3)
        ConfigOption(retries: int = 3)
    """

    @staticmethod
    def key(key: str) -> ConfigOptions.OptionBuilder:
        """Return a builder of an option with this key.

        Args:
            key: Key of the option, such as `parallelism.default`.
        """
        return ConfigOptions.OptionBuilder(key)

    class OptionBuilder:
        """A builder whose next step is the type of the value."""

        def __init__(self, key: str) -> None:
            self._key = key

        def boolean_type(self) -> ConfigOptions.TypedConfigOptionBuilder[bool]:
            """Set the type to boolean."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, bool)

        def int_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Set the type to integer."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def long_type(self) -> ConfigOptions.TypedConfigOptionBuilder[int]:
            """Set the type to integer."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, int)

        def float_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Set the type to float."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def double_type(self) -> ConfigOptions.TypedConfigOptionBuilder[float]:
            """Set the type to float."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, float)

        def string_type(self) -> ConfigOptions.TypedConfigOptionBuilder[str]:
            """Set the type to string."""
            return ConfigOptions.TypedConfigOptionBuilder(self._key, str)

    class TypedConfigOptionBuilder(Generic[T]):
        """A builder whose next step is the default value."""

        def __init__(self, key: str, type_: type) -> None:
            self._key = key
            self._type = type_

        def default_value(self, value: T) -> ConfigOption[T]:
            """Return the option with a default value.

            Args:
                value: Returned for configurations that do not set the option; not converted to the type.
            """
            return ConfigOption(self._key, self._type, value)

        def no_default_value(self) -> ConfigOption[Any]:
            """Return the option without a default value."""
            return ConfigOption(self._key, self._type, None)
