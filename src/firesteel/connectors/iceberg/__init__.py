"""Apache Iceberg, with pyiceberg."""
