"""Leader election, and the data that outlives a leader."""
