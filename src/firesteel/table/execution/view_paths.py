"""Full paths of tables in the query of a view, so that USE does not change its meaning."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from firesteel.table.syntax.queries import Resolved, TableRef, With

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager


def with_full_paths(node: object, catalogs: CatalogManager, tables: frozenset[str] = frozenset()) -> Any:
    """Return a query whose tables are named by catalog, database and name.

    Args:
        node: A query or an expression, or a tuple of them.
        catalogs: Knows the current catalog and database.
        tables: Names of common table expressions, which stay as they are.
    """
    if isinstance(node, TableRef):
        if len(node.path) == 1 and node.path[0] in tables:
            return node
        if len(node.path) > 3:
            return node
        return replace(node, path=catalogs.qualify(node.path))
    if isinstance(node, With):
        return _with_tables(node, catalogs, tables)
    if isinstance(node, tuple):
        return tuple(with_full_paths(item, catalogs, tables) for item in node)
    if isinstance(node, Resolved) or not is_dataclass(node) or isinstance(node, type):
        return node
    changes = {}
    for field in fields(node):
        value = getattr(node, field.name)
        changed = with_full_paths(value, catalogs, tables)
        if changed is not value:
            changes[field.name] = changed
    return replace(node, **changes) if changes else node


def _with_tables(node: With, catalogs: CatalogManager, tables: frozenset[str]) -> With:
    found = []
    for name, columns, query in node.tables:
        found.append((name, columns, with_full_paths(query, catalogs, tables)))
        tables = tables | {name}
    return With(tuple(found), with_full_paths(node.query, catalogs, tables))
