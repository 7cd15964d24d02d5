"""CSV."""

FILES = MESSAGES = {"csv": "table"}
