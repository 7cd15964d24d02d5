"""Apache Iceberg, with pyiceberg."""

TABLES = {"iceberg": "table"}
