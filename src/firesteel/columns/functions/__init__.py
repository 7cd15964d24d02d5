"""The built-in functions of SQL: their names, types and kernels."""
