"""JSON, and changes as JSON of capture tools."""

FILES = MESSAGES = {
    "canal-json": "change_table",
    "debezium-json": "change_table",
    "json": "table",
    "maxwell-json": "change_table",
    "ogg-json": "change_table",
}
