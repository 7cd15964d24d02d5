"""Decisions between the batches of a job: what its sources read next, and what its checkpoints contain."""
