"""Formats of records at the border of a job (as `pyflink.datastream.formats`)."""
