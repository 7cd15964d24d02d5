"""Takes jobs, runs each in a JobMaster of its own, and remembers how they ended."""
