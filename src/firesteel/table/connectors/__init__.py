"""Connectors and formats for the options `connector` and `format`."""
