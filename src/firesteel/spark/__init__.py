"""The data plane on Spark: job graphs become one query or one batch job of linear stages."""
