"""Names of columns for a log that has none: that of MySQL 5.7, and where `binlog_row_metadata` is not FULL.

Such a log has the values of a row in the order of the columns. So their names, character sets and members are those
that the table had where the source began; a table that has others now is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from firesteel.connectors.cdc.errors import ANEW, schema_change
from firesteel.connectors.mysql_cdc.server import connect
from firesteel.connectors.mysql_cdc.settings import CdcSettings, MySqlCdcError
from firesteel.connectors.mysql_cdc.shapes import table_shape

if TYPE_CHECKING:
    from pymysqlreplication.column import Column as LogColumn

_MEMBER = re.compile(r"'((?:[^']|'')*)'")


class Layouts:
    """The layouts of captured tables.

    Args:
        settings: The settings of the source.
        layouts: By table its columns in their order, as of `KnownTable`; empty for a table whose former layout is not
            known.

    Attributes:
        altered: Tables that were altered after rows without names.
    """

    def __init__(self, settings: CdcSettings, layouts: Mapping[str, Sequence[Sequence[str]]]) -> None:
        self._settings = settings
        self._layouts = layouts
        self._compared: set[str] = set()
        self.altered: set[str] = set()

    def name(self, table: str, columns: Sequence[LogColumn]) -> None:
        """Give the columns of rows in the log their names, and what else the log lacks.

        Raises:
            MySqlCdcError: the table has another layout than it had, or that is not known.
        """
        layout = self._layouts[table]
        if not layout:
            raise MySqlCdcError(
                f"mysql-cdc: the log of {table} has no names of columns, as it was written before binlog_row_metadata "
                "was FULL"
            )
        if table not in self._compared:
            self._compare(table, layout)
            self._compared.add(table)
        if len(columns) != len(layout):
            raise MySqlCdcError(
                f"mysql-cdc: {table} has {len(columns)} columns in the log, and had {len(layout)} where the source "
                f"began. Schema changes are refused: {ANEW}"
            )
        for column, (name, collation, whole_type) in zip(columns, layout, strict=True):
            _complete(column, name, collation, whole_type)

    def alter(self, table: str) -> None:
        """Compare the layout again, as the log says that a table was altered."""
        if table in self._compared:
            self._compared.remove(table)
            self.altered.add(table)

    def _compare(self, table: str, layout: Sequence[Sequence[str]]) -> None:
        with closing(connect(self._settings.server)) as connection:
            now = table_shape(connection, *table.split(".", 1)).layout
        if list(map(tuple, layout)) == list(map(tuple, now)):
            return
        before, after = ({name: kind for name, _, kind in one} for one in (layout, now))
        names = [name for name in [*before, *after] if before.get(name) != after.get(name)]
        what = schema_change(f"{names[0]!r} of {table}", before.get(names[0]), after.get(names[0])) if names else (
            f"{table} has its columns in another order, or with other collations. Schema changes are refused: {ANEW}"
        )  # fmt: skip
        raise MySqlCdcError(f"mysql-cdc: {what}")


def _complete(column: LogColumn, name: str, collation: str, whole_type: str) -> None:
    column.name = name
    column.unsigned = "unsigned" in whole_type
    column.character_set_name = collation.partition("_")[0] or "binary"
    if whole_type.startswith(("enum(", "set(")):
        members = [member.replace("''", "'") for member in _MEMBER.findall(whole_type)]
        column.enum_values, column.set_values = ["", *members], members
