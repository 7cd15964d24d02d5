"""Keyed state, timers, time to live and broadcast state."""
