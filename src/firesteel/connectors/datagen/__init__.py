"""The table connector `datagen`."""

TABLES = {"datagen": "table"}
