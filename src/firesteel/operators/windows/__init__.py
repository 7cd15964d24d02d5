"""Window operators and the contents of windows."""
