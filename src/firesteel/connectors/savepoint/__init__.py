"""The keyed state of an operator in a checkpoint or savepoint as a table: the connector `savepoint`."""

TABLES = {"savepoint": "table"}
