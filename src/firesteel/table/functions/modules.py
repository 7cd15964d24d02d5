"""Modules of functions. Flink: `ModuleManager`."""

from __future__ import annotations

from firesteel.common.table_errors import ValidationException

CORE = "core"


class Modules:
    """The modules that are loaded, and those that are used, in their order; only `core` has functions."""

    def __init__(self) -> None:
        self._loaded = [CORE]
        self._used = [CORE]

    @property
    def used(self) -> list[str]:
        """Names of the modules that functions are looked up in, in their order."""
        return list(self._used)

    @property
    def unused(self) -> list[str]:
        """Names of the other modules."""
        return [name for name in self._loaded if name not in self._used]

    def load(self, name: str) -> None:
        """Load a module.

        Raises:
            ValidationException: it is loaded already, or is not `core`.
        """
        if name in self._loaded:
            raise ValidationException(f"A module with name '{name}' already exists")
        if name != CORE:
            raise ValidationException(
                f"Could not load module '{name}': no such module exists; available: {CORE}. Register user-defined "
                "functions with create_temporary_function"
            )
        self._loaded.append(name)
        self._used.append(name)

    def unload(self, name: str) -> None:
        """Unload a module.

        Raises:
            ValidationException: it is not loaded.
        """
        if name not in self._loaded:
            raise ValidationException(f"No module with name '{name}' exists")
        self._loaded.remove(name)
        self._used = [used for used in self._used if used != name]

    def use(self, names: tuple[str, ...]) -> None:
        """Set which modules functions are looked up in.

        Raises:
            ValidationException: one is not loaded, or is named twice.
        """
        for name in names:
            if name not in self._loaded:
                raise ValidationException(f"No module with name '{name}' exists")
            if names.count(name) > 1:
                raise ValidationException(f"Module '{name}' appears more than once")
        self._used = list(names)
