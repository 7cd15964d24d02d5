"""The table connector `faker`: rows of made-up data."""

TABLES = {"faker": "table"}
