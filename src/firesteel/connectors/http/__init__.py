"""The table connectors `http` and `rest-lookup`: rows that a service has for keys."""

TABLES = dict.fromkeys(("http", "rest-lookup"), "table")
