"""Joins of all kinds, and table functions."""
