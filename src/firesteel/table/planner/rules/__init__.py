"""Rewriting of plans."""
