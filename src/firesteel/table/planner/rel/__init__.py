"""Relational nodes and expressions, what they emit, and how they are shown."""
