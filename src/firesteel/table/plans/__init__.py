"""Compiled plans: the nodes of plans as JSON, and back."""
