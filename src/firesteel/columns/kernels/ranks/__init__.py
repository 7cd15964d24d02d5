"""The first rows in an order: Top-N and deduplication."""
