"""The format `raw`."""
