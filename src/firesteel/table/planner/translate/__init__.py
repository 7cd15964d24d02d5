"""From relational nodes to transformations of a DataStream."""
