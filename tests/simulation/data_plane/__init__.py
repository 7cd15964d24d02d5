"""The data plane under faults: the real slots, versions, sinks and coordinators on simulated processes and Spark."""
