"""The built-in functions of SQL: their names, types and kernels."""

from firesteel.columns.functions.registry import find_function, function_names

__all__ = ["find_function", "function_names"]
