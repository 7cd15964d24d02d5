"""Apache Kafka: source and sink of streams, and the table connectors `kafka` and `upsert-kafka`."""

TABLES = {"kafka": "table", "upsert-kafka": "upsert_table"}
