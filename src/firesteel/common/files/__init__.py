"""Files and file systems, local and remote."""
