"""Parquet and ORC."""
