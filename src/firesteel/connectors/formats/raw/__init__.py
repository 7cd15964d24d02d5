"""The format `raw`."""

FILES = MESSAGES = {"raw": "table"}
