"""The data plane on Spark: it runs job graphs as Spark jobs of linear stages."""
