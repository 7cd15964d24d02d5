"""Names of PyFlink 1.9 to 1.20 for tables that PyFlink 2 has removed, implemented on today's API for `--pyflink`.

There is one module per removed feature. Each one is a thin adapter, which logs the replacement of a name once. Methods
that still exist but took other arguments, such as `Table.select` with a text, are *widened*: a function that also takes
the old arguments replaces the method when `pyflink.table` is imported, and calls it. Programs without `--pyflink` never
see it.
"""
