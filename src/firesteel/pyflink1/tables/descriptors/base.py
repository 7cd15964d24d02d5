"""Base classes of descriptors."""

from __future__ import annotations

from typing import Self

from firesteel.common.options.kinds import text_of


class LegacyDescriptor:
    """A connector or format that is described by properties of Flink up to 1.10.

    Args:
        properties: The first properties.
    """

    def __init__(self, properties: dict[str, str]) -> None:
        self._properties = properties

    def to_properties(self) -> dict[str, str]:
        """Return the properties."""
        return dict(self._properties)

    def _apply(self, **arguments: object) -> None:
        """Call the method of the name of each argument of a constructor: of a flag that is true, or with a value."""
        for name, value in arguments.items():
            if value is True:
                getattr(self, name)()
            elif value is not None and value is not False:
                getattr(self, name)(value)

    def _set(self, key: str, value: object) -> Self:
        self._properties[key] = text_of(value)
        return self


class ConnectorDescriptor(LegacyDescriptor):
    """An external system.

    Args:
        kind: Its name.
        version: The version of its properties.
    """

    def __init__(self, kind: str, version: int = 1) -> None:
        super().__init__({"connector.type": kind, "connector.property-version": str(version)})


class FormatDescriptor(LegacyDescriptor):
    """The format of records or files.

    Args:
        kind: Its name.
    """

    def __init__(self, kind: str) -> None:
        super().__init__({"format.type": kind, "format.property-version": "1"})
