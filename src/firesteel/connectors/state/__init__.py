"""The keyed state of a running job as a table: the connector `state`."""

TABLES = {"state": "table"}
