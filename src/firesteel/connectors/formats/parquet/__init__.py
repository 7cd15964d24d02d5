"""Parquet and ORC."""

FILES = {"parquet": "table"}
