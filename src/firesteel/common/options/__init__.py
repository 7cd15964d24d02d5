"""Options: which there are, secrets in them, and what a cluster hands to its jobs."""
