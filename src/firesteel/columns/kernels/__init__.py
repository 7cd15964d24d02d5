"""Operators on columns, one module per kind. Each `...Factory` is plain data that travels with the job."""
