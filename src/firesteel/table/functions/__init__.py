"""Functions of users and modules: their registration, loading and types.

`pyflink.table.functions` also has the names below, for it imports them; programs import them from there.
"""

from firesteel.table.data_view import ListView, MapView
from firesteel.table.functions.udf_base import AggregateFunction

__all__ = ["AggregateFunction", "ListView", "MapView"]
