"""Names of PyFlink 1.9 to 1.20 for tables that PyFlink 2 has removed, implemented on today's API for `--pyflink`.

There is one module per removed feature. Each one is a thin adapter, which logs the replacement of a name once.
"""
