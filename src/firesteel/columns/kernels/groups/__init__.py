"""GROUP BY without windows."""
