"""Elements between subtasks: partitioning, buffers, input gates, spilling."""
