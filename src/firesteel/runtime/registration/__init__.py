"""Getting and staying connected to a leader."""
