"""Catalogs: what they store, and where they store it."""
