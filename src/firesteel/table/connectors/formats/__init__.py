"""Formats of files and messages: from bytes to column batches and back."""
