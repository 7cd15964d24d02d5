"""Execution of unmodified PyFlink programs."""

from firesteel.compat.alias import alias_pyflink
from firesteel.compat.main_module import run_as_main

__all__ = ["alias_pyflink", "run_as_main"]
