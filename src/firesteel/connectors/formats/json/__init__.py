"""JSON and Debezium JSON."""
