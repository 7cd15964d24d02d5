"""Formats of files and messages: rows of streams and column batches of tables, from bytes and back."""
