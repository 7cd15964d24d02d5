"""Sinks, what they ask to be committed, and the committers of a job."""
