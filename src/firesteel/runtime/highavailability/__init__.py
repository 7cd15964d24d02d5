"""Who leads, and what outlives a leader."""
