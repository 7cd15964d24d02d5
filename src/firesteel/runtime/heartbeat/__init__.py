"""Knowing that the other side still lives."""
