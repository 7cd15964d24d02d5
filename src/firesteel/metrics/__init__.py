"""Metrics of user functions (as `pyflink.metrics`)."""

from firesteel.metrics.metricbase import Counter, Distribution, Meter, Metric, MetricGroup

__all__ = ["Counter", "Distribution", "Meter", "Metric", "MetricGroup"]
