"""What connectors that capture the changes of tables share."""
