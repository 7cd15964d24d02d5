"""Keyed state, timers, windows and watermarks through failures, restores and rescales, against a plain model."""
