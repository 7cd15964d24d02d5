"""The table connector `spark`: tables of a Spark catalog."""

TABLES = {"spark": "table"}
