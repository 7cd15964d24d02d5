"""Databases: source and sink of streams, and the table connector `jdbc`."""

TABLES = {"jdbc": "table"}
