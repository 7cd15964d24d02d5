"""The job control plane: Flink's `org.apache.flink.runtime` on one asyncio loop. Independent of Spark."""
