"""The JSON format (module as `pyflink.datastream.formats.json`)."""

from __future__ import annotations

from firesteel.connectors.formats.json.schemas import JsonRowDeserializationSchema, JsonRowSerializationSchema

__all__ = ["JsonRowDeserializationSchema", "JsonRowSerializationSchema"]
