"""What is known of the checkpoints of a job."""
