"""The coordinator of a job's batches: it plans what the sources read next and completes checkpoints."""
