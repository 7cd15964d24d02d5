"""Aggregate calls, row by row and on arrays."""
