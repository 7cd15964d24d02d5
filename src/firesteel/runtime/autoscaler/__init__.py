"""The autoscaler: the parallelism of a job follows its load. Flink: the `flink-autoscaler` of its operator."""
