"""The slots of one job: requested, offered and used. Pure: nothing here awaits."""
