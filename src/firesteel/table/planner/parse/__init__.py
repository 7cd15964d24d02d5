"""From SQL text to syntax."""
