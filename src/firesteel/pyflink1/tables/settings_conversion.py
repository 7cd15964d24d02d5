"""Conversion between settings and configurations, which became constructor and `get_configuration`."""

from __future__ import annotations

from firesteel.common.configuration import Configuration
from firesteel.pyflink1.removed import Removed, note
from firesteel.table.environment_settings import EnvironmentSettings

_FROM = "EnvironmentSettings.new_instance().with_configuration(configuration).build()"
_TO = "EnvironmentSettings.get_configuration()"


def from_configuration(config: Configuration) -> EnvironmentSettings:
    """Return settings with the options of a configuration."""
    note("EnvironmentSettings.from_configuration()", _FROM)
    return EnvironmentSettings.new_instance().with_configuration(config).build()


def to_configuration(self: EnvironmentSettings) -> Configuration:
    """Return the options."""
    note("EnvironmentSettings.to_configuration()", _TO)
    return self.get_configuration()


_SETTINGS = ("table.EnvironmentSettings",)
REMOVED = (
    Removed(_SETTINGS, "from_configuration", staticmethod(from_configuration), _FROM),
    Removed(_SETTINGS, "to_configuration", to_configuration, _TO),
)
