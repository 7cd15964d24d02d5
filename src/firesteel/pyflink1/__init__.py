"""Names of PyFlink 1.11 to 1.20 that PyFlink 2 has removed, on today's API: there with `--pyflink`.

A module per removed piece. Each is a thin translation and logs once what takes the place of the name.
"""
