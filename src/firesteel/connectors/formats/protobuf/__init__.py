"""Protocol Buffers."""

MESSAGES = {"protobuf": "table"}
