"""Amazon Kinesis and Firehose: source and sinks of streams, and the table connectors."""

TABLES = {"firehose": "firehose_table", "kinesis": "table", "kinesis-legacy": "table"}
