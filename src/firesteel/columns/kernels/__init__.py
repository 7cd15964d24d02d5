"""Operators on columns, one module per kind. Each `...Factory` is plain data that is shipped with the job."""
