"""Operators that call functions of batches of elements."""
