"""Modules of functions (module as `pyflink.table.module`)."""

from __future__ import annotations

__all__ = ["HiveModule", "Module", "ModuleEntry"]


class Module:
    """A set of functions; only `core` exists.

    Args:
        name: Its name.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> table_env.list_modules()
        ['core']
    """

    def __init__(self, name: str = "core") -> None:
        self.name = name


class HiveModule(Module):
    """Hive's functions; not available.

    Args:
        hive_version: Not used.

    Raises:
        NotImplementedError: always.
    """

    def __init__(self, hive_version: str | None = None) -> None:
        raise NotImplementedError("Hive functions are not available; register user-defined functions")


class ModuleEntry:
    """A module, and whether functions are looked up in it.

    `TableEnvironment.list_full_modules` returns it.

    Args:
        name: Name under which the module is loaded.
        used: Whether functions are looked up in the module.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> [(entry.name(), entry.used()) for entry in table_env.list_full_modules()]
        [('core', True)]
    """

    def __init__(self, name: str, used: bool) -> None:
        self._name = name
        self._used = used

    def name(self) -> str:
        """Return the name."""
        return self._name

    def used(self) -> bool:
        """Return whether functions are looked up in it."""
        return self._used

    def __str__(self) -> str:
        return f"ModuleEntry{{name='{self._name}', used={str(self._used).lower()}}}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModuleEntry) and (self._name, self._used) == (other._name, other._used)

    def __hash__(self) -> int:
        return hash((self._name, self._used))
