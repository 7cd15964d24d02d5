"""Flink DataStream programs in Python, run on Spark."""
