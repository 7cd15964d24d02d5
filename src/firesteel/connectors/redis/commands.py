"""The commands that a table of Redis may have, and what becomes of rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class RedisCommand:
    """A command of Redis whose arguments are the columns of a table.

    Attributes:
        arguments: Meaning of the columns, in their order.
        add: The command for rows that are added or updated.
        remove: The command for rows that are deleted, which gets the first columns only; empty if there is none.
        kept: Number of columns that identify a row: those of the primary key.
        find: The command of lookups, which gets these columns; empty if there is none.
        add_if_absent: The command that adds a row only if it is not there; empty if there is none.
    """

    arguments: tuple[str, ...]
    add: str
    remove: str = ""
    kept: int = 0
    find: str = ""
    add_if_absent: str = ""


_VALUE = RedisCommand(("key", "value"), "SET", "DEL", 1, "GET", "SETNX")
_FIELD = RedisCommand(("key", "field", "value"), "HSET", "HDEL", 2, "HGET", "HSETNX")
COMMANDS = {
    "get": _VALUE,
    "set": _VALUE,
    "hget": _FIELD,
    "hset": _FIELD,
    "lpush": RedisCommand(("key", "element"), "LPUSH"),
    "rpush": RedisCommand(("key", "element"), "RPUSH"),
    "sadd": RedisCommand(("key", "member"), "SADD", "SREM", 2),
    "publish": RedisCommand(("channel", "message"), "PUBLISH"),
}

REFUSED = {
    **dict.fromkeys(
        ("incrby", "incrbyfloat", "decrby", "hincrby", "hincrbyfloat", "zincrby", "pfadd"),
        "it adds rows that are written again after a failure a second time",
    ),
    **dict.fromkeys(("del", "hdel", "srem", "zrem"), "delete the rows of a table with a primary key"),
    "zadd": "there are no sorted sets",
}
"""Other commands of the public connector, each with the reason why it is refused."""
