"""What connectors that capture the changes of tables share, see `docs/decisions/0057-change-data-capture.md`."""
