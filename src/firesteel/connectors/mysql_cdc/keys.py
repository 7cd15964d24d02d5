"""Keys that divide a table into chunks: how they are written in statements and ids, and their order.

The order of texts is that of their collation, which the server alone knows: it is asked for the weights of a key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING

from firesteel.columns.cells import Cell
from firesteel.connectors.cdc.splits import KeyReader
from firesteel.connectors.mysql_cdc.server import connect, query
from firesteel.connectors.mysql_cdc.settings import MySqlCdcError, Server
from firesteel.connectors.mysql_cdc.shapes import ColumnShape

if TYPE_CHECKING:
    from pymysql.connections import Connection

_TEXTS, _BYTES = ("char", "varchar"), ("binary", "varbinary")
_READERS: Mapping[str, KeyReader] = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "bigint"), int),
    "decimal": Decimal,
    "date": str.encode,
    **dict.fromkeys(_BYTES, bytes.fromhex),
    "": str.encode,
}
"""How the order of keys is found out here, by the type; a table without chunks has one key, the empty text."""

_MOST_REMEMBERED = 100_000


def chunk_type(column: ColumnShape) -> str:
    """Return what must be known of a column for the order of its keys; empty if it divides no table."""
    if column.type_name in _TEXTS:
        size = re.sub(r"\D", "", column.whole_type.partition(")")[0])
        return f"{column.type_name} {column.collation} {size}"
    return column.type_name if column.type_name in _READERS else ""


def key_as_text(value: object) -> str:
    """Return a key as it stands in ids of chunks.

    Example:
        >>> key_as_text(5), key_as_text(b"ab")
        ('5', '6162')
    """
    return value.hex() if isinstance(value, bytes) else str(value)


def literal(type_name: str, key: str) -> str:
    """Return a key as it stands in a statement, whatever the mode of the session is.

    Example:
        >>> literal("varchar", "it's"), literal("binary", "6162"), literal("int", "-5"), literal("date", "2024-02-29")
        ("_utf8mb4 x'69742773'", "x'6162'", '-5', "'2024-02-29'")
    """
    if type_name in _TEXTS:
        return f"_utf8mb4 x'{key.encode().hex()}'"
    if type_name in _BYTES:
        return f"x'{key}'"
    return f"'{key}'" if type_name == "date" else key


class KeyOrders:
    """The orders of keys of a server.

    Args:
        server: The server, which is contacted for texts only.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connection: Connection | None = None
        self._readers: dict[str, KeyReader] = {}

    def reader(self, chunk_type: str) -> KeyReader:
        """Return what makes of a key a value that has its order.

        Args:
            chunk_type: As of the function `chunk_type`.
        """
        if chunk_type not in self._readers:
            self._readers[chunk_type] = self._new_reader(*chunk_type.partition(" ")[::2])
        return self._readers[chunk_type]

    def _new_reader(self, type_name: str, details: str) -> KeyReader:
        if type_name not in _TEXTS:
            return _READERS[type_name]
        collation, _, size = details.partition(" ")
        remembered: dict[str, Cell] = {}
        weights = ""

        def read(key: str) -> Cell:
            nonlocal weights
            if key not in remembered:
                weights = weights or self._weights(collation, size)
                if len(remembered) >= _MOST_REMEMBERED:
                    remembered.clear()
                remembered[key] = self._ask(weights.format(literal(type_name, key)), collation)
            return remembered[key]

        return read

    def _weights(self, collation: str, size: str) -> str:
        """Return the expression of a key's weights; most collations compare as if texts were filled with blanks."""
        text = f"CONVERT({{}} USING {collation.partition('_')[0]}) COLLATE {collation}"
        [(is_filled,)] = self._asked(
            f"SELECT {text.format(literal('char', 'a'))} = {text.format(literal('char', 'a '))}"
        )
        return f"WEIGHT_STRING({text}{f' AS CHAR({size})' if is_filled else ''})"

    def _ask(self, weights: str, collation: str) -> bytes:
        [(found,)] = self._asked(f"SELECT {weights}")
        if not isinstance(found, bytes):
            raise MySqlCdcError(f"mysql-cdc: {self._server} does not tell the order of the collation {collation}")
        return found

    def _asked(self, statement: str) -> list[tuple[object, ...]]:
        if self._connection is None or not self._connection.open:
            self._connection = connect(self._server)
        return query(self._connection, statement)

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
