"""The table connector `print`."""
