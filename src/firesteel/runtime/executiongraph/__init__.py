"""The JobGraph expanded by parallelism, with the state of every attempt. Pure: nothing here awaits."""
