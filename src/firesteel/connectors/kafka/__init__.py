"""Apache Kafka: source and sink of streams, and the table connectors `kafka` and `upsert-kafka`."""
