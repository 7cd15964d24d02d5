"""Keyed state as sorted runs of columns, in memory or in files on the local disk."""
