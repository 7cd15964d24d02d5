"""The planner: from statements and expressions to columnar operators. Independent of Spark and asyncio."""
