"""What a program says, as plain data between parser, API and planner: statements, queries, identifiers."""
