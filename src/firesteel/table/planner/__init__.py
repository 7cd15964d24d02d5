"""From statements and expressions to operators on columns; knows neither Spark nor asyncio."""
