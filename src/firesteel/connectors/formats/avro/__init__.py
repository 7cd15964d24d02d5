"""Avro, also with a schema registry."""
