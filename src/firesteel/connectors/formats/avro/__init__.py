"""Avro, also with a schema registry."""

FILES = {"avro": "table_files"}
MESSAGES = {"avro": "table", "avro-confluent": "confluent_table", "debezium-avro-confluent": "debezium_table"}
