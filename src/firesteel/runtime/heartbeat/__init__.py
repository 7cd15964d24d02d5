"""Heartbeats between components."""
