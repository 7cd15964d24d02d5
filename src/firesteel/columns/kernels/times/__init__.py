"""What waits for a time: rows, keys that are due, and the windows of rows."""
