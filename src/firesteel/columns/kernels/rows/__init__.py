"""Rows as columns, what finds them, and how their state is kept."""
