"""The command line `firesteel`."""

from firesteel.cli.main import main

__all__ = ["main"]
