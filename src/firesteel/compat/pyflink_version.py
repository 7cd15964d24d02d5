"""The version of PyFlink whose names firesteel has (as `pyflink.version`)."""

__version__ = "2.3.0"
