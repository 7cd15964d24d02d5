"""Running PyFlink programs unchanged."""

from firesteel.compat.alias import alias_pyflink

__all__ = ["alias_pyflink"]
