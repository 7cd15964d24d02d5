"""Schemas of formats, which were in `pyflink.common.serialization` up to PyFlink 1.15."""

from __future__ import annotations

from firesteel.connectors.formats.avro import schemas as avro
from firesteel.connectors.formats.json import schemas as json
from firesteel.datastream.formats import csv
from firesteel.pyflink1.removed import Removed


def _moved(module: str, name: str, value: type) -> Removed:
    return Removed(("common.serialization",), name, value, f"from pyflink.datastream.formats.{module} import {name}")


REMOVED = (
    _moved("avro", "AvroRowDeserializationSchema", avro.AvroRowDeserializationSchema),
    _moved("avro", "AvroRowSerializationSchema", avro.AvroRowSerializationSchema),
    _moved("csv", "CsvRowDeserializationSchema", csv.CsvRowDeserializationSchema),
    _moved("csv", "CsvRowSerializationSchema", csv.CsvRowSerializationSchema),
    _moved("json", "JsonRowDeserializationSchema", json.JsonRowDeserializationSchema),
    _moved("json", "JsonRowSerializationSchema", json.JsonRowSerializationSchema),
)
