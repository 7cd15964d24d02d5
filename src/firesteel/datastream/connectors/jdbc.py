"""JDBC connectors (module as `pyflink.datastream.connectors.jdbc`), with Python drivers instead of JDBC drivers."""

from __future__ import annotations

from firesteel.connectors.jdbc.sink import (
    GenericParameterValuesProvider,
    JdbcConnectionOptions,
    JdbcExecutionOptions,
    JdbcSink,
    JdbcSource,
    JdbcSourceBuilder,
    NumericBetweenParametersProvider,
)

__all__ = [
    "GenericParameterValuesProvider",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "JdbcSource",
    "JdbcSourceBuilder",
    "NumericBetweenParametersProvider",
]
