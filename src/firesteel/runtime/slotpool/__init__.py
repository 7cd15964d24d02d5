"""The slots of one job: what was asked for, what was offered, who uses what. Pure: nothing here awaits."""
