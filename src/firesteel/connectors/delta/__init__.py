"""Delta Lake, with the package deltalake."""

TABLES = {"delta": "table"}
