"""From syntax to relational nodes: names, types, scopes, subqueries."""
