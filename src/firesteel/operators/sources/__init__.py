"""Sources: their splits, readers, timestamps and watermarks."""
