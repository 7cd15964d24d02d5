"""The ORC format (module as `pyflink.datastream.formats.orc`), implemented with pyarrow."""

from __future__ import annotations

from firesteel.connectors.formats.parquet.orc import OrcBulkWriters

__all__ = ["OrcBulkWriters"]
