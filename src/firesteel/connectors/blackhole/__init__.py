"""The table connector `blackhole`."""
