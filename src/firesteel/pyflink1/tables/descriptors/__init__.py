"""Descriptors of `connect()` (as `pyflink.table.descriptors`): connectors, formats, schemas and their tables."""
