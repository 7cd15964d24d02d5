"""The Dispatcher accepts jobs, runs each in its own JobMaster, and keeps their results."""
