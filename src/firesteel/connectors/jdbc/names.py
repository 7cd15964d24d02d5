"""Names of tables and columns in statements."""

from __future__ import annotations

import re
from collections.abc import Iterable

MYSQL = ("mysql", "mariadb")
POSTGRES = ("postgresql", "postgres")
_PART = re.compile(r'"(?:[^"]|"")+"|[^.]+')
_CAPITALS = re.compile(r"[A-Z]+")


class SqlNames:
    """Writes the names of a table and its columns.

    Flink writes names without quotes to PostgreSQL, which takes them for names in lower case. Here these are quoted, as
    some of them are words of SQL. Names in double quotes are left as they are, and so are those of the columns of a
    table in quotes, which the catalog needs.

    Flink: `JdbcDialect.quoteIdentifier`.

    Args:
        url: The address of the database.
        table: The option `table-name`; its parts are separated by dots.
    """

    def __init__(self, url: str, table: str) -> None:
        scheme = scheme_of(url)
        self._quote = "`" if scheme in MYSQL else '"'
        self._has_quoted = self._is_folded = scheme in POSTGRES
        parts = _PART.findall(table) if self._has_quoted else table.split(".")
        self.table = ".".join(map(self.quoted, parts))
        self._is_folded &= not _is_quoted(parts[-1])

    def quoted(self, name: str) -> str:
        """Return a name as it stands in a statement."""
        if self._has_quoted and _is_quoted(name):
            return name
        name = folded(name) if self._is_folded else name
        return self._quote + name.replace(self._quote, self._quote * 2) + self._quote


def scheme_of(url: str) -> str:
    """Return the kind of database of a URL such as `jdbc:postgresql://host/database`."""
    return url.removeprefix("jdbc:").partition(":")[0]


def exact_table(url: str, table: str, columns: Iterable[str]) -> str:
    """Return the option `table-name` for a table with exactly these names of its own and of its columns.

    Example:
        >>> exact_table("jdbc:postgresql://host/shop", "public.orders", ["userId"])
        '"public"."orders"'
    """
    if scheme_of(url) not in POSTGRES or all(folded(name) == name for name in (table, *columns)):
        return table
    return ".".join(f'"{part}"' for part in table.split("."))


def folded(name: str) -> str:
    """Return what PostgreSQL takes a name without quotes for.

    Example:
        >>> folded("userId")
        'userid'
    """
    return _CAPITALS.sub(lambda found: found[0].lower(), name)


def _is_quoted(name: str) -> bool:
    return len(name) > 2 and name[0] == name[-1] == '"'
