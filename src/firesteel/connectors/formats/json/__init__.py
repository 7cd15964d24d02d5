"""JSON and Debezium JSON."""

FILES = MESSAGES = {"debezium-json": "debezium_table", "json": "table"}
