"""The names of PyFlink's interactive shell (module as `pyflink.shell`), without its greeting."""

from __future__ import annotations

from firesteel import common, datastream, metrics, table
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment, catalog, descriptors, window

s_env = StreamExecutionEnvironment.get_execution_environment()
"""The environment of streams."""

st_env = StreamTableEnvironment.create(s_env)
"""The environment of tables."""

for _module in (common, datastream, table, catalog, descriptors, window, metrics):  # as PyFlink: the last name wins
    globals().update({name: getattr(_module, name) for name in _module.__all__})
