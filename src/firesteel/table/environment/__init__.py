"""The parts of a `TableEnvironment`: catalogs, sources, conversion of streams, DataFrames and rows."""
