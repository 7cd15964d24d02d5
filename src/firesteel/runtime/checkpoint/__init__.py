"""Statistics of the checkpoints of a job."""
