"""What packages that bring table connectors and formats derive from and use. See docs/write_a_connector.md.

PyFlink has no such module: there, connectors and formats are written in Java.
"""

from __future__ import annotations

from firesteel.connectors.formats.row_format import RowFormat
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.row_tables import SinkTable, SourceTable
from firesteel.connectors.table_options import Options

__all__ = ["Columns", "Options", "RowFormat", "SinkTable", "SourceTable"]
