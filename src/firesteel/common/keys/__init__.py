"""Canonical keys and key groups."""
