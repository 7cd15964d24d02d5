"""What `connector` and `format` options stand for."""
