"""Settings of a table environment (module as `pyflink.table.environment_settings`)."""

from __future__ import annotations

from firesteel.common.configuration import Configuration
from firesteel.common.options.execution_options import RUNTIME_MODE
from firesteel.common.options.option_check import check_options

__all__ = ["EnvironmentSettings"]

_CATALOG, _DATABASE = "default_catalog", "default_database"


class EnvironmentSettings:
    """The settings of a table environment: runtime mode, and the names of the built-in catalog and database.

    Programs usually call `in_streaming_mode`, `in_batch_mode` or `new_instance`, which returns a builder.

    Args:
        configuration: Options of the environment, used without a copy; None for none. `execution.runtime-mode` sets the
            mode (streaming unless it is `BATCH`).
        catalog: Name of the catalog that exists from the start.
        database: Name of the database in it that exists from the start.

    Example:
        >>> EnvironmentSettings.new_instance().in_streaming_mode().build().is_streaming_mode()
        True
    """

    class Builder:
        """A builder of `EnvironmentSettings`."""

        def __init__(self) -> None:
            self._configuration = Configuration()
            self._catalog = _CATALOG
            self._database = _DATABASE

        def with_configuration(self, config: Configuration) -> EnvironmentSettings.Builder:
            """Add options.

            Args:
                config: Its options replace those of the same keys.

            Raises:
                ValueError: An option is misspelt, refused, or does not have this value.
            """
            check_options(config.to_dict())
            self._configuration.add_all(config)
            return self

        def in_batch_mode(self) -> EnvironmentSettings.Builder:
            """Execute queries over bounded data, with final results only."""
            self._configuration.set_string(RUNTIME_MODE.key, "BATCH")
            return self

        def in_streaming_mode(self) -> EnvironmentSettings.Builder:
            """Execute queries continuously, with results that are updated (default)."""
            self._configuration.set_string(RUNTIME_MODE.key, "STREAMING")
            return self

        def with_built_in_catalog_name(self, built_in_catalog_name: str) -> EnvironmentSettings.Builder:
            """Set the name of the catalog that exists from the start.

            Args:
                built_in_catalog_name: Any name (default `default_catalog`).
            """
            self._catalog = built_in_catalog_name
            return self

        def with_built_in_database_name(self, built_in_database_name: str) -> EnvironmentSettings.Builder:
            """Set the name of the database that exists from the start.

            Args:
                built_in_database_name: Any name (default `default_database`).
            """
            self._database = built_in_database_name
            return self

        def build(self) -> EnvironmentSettings:
            """Return the settings."""
            return EnvironmentSettings(self._configuration, self._catalog, self._database)

    def __init__(
        self, configuration: Configuration | None = None, catalog: str = _CATALOG, database: str = _DATABASE
    ) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        self._catalog = catalog
        self._database = database

    def get_built_in_catalog_name(self) -> str:
        """Return the name of the built-in catalog."""
        return self._catalog

    def get_built_in_database_name(self) -> str:
        """Return the name of the built-in database."""
        return self._database

    def is_streaming_mode(self) -> bool:
        """Return whether queries run in streaming mode."""
        return self._configuration.get(RUNTIME_MODE) != "BATCH"

    def get_configuration(self) -> Configuration:
        """Return the options."""
        return self._configuration

    @staticmethod
    def new_instance() -> EnvironmentSettings.Builder:
        """Return a builder."""
        return EnvironmentSettings.Builder()

    @staticmethod
    def in_streaming_mode() -> EnvironmentSettings:
        """Return settings for streaming mode."""
        return EnvironmentSettings.new_instance().in_streaming_mode().build()

    @staticmethod
    def in_batch_mode() -> EnvironmentSettings:
        """Return settings for batch mode."""
        return EnvironmentSettings.new_instance().in_batch_mode().build()
