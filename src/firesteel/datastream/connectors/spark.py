"""The sink that writes by a format of Spark; PyFlink has none."""

from firesteel.connectors.spark.stream_sink import SparkSink

__all__ = ["SparkSink"]
