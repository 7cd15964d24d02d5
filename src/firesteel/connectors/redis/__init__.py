"""The table connector `redis`: keys, hashes, lists and sets as sinks, keys and hashes as lookup tables."""

TABLES = {"redis": "table"}
