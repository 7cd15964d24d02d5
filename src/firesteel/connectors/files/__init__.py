"""Files: source and sinks of streams, and the table connector `filesystem`."""
