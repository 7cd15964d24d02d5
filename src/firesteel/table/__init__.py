"""`pyflink.table`: the Table API and SQL."""
