"""JSON and Protocol Buffers in Confluent's wire format, whose schemas are stored in a schema registry."""

MESSAGES = {"json-confluent": "json_table", "protobuf-confluent": "protobuf_table"}
