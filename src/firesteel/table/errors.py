"""Errors of tables and SQL, under the names of Flink's exceptions.

```
TableException
├── SqlParserException      a statement that can't be parsed
├── ValidationException     a query, table or option that does not fit; also ValueError
└── CatalogException        something that is missing in a catalog, or is there already
```
"""

from __future__ import annotations

from firesteel.common.table_errors import (
    CatalogException,
    SqlParserError,
    SqlParserException,
    TableException,
    ValidationException,
)

__all__ = ["CatalogException", "SqlParserError", "SqlParserException", "TableException", "ValidationException"]
