"""The owner of all slots: it knows the TaskExecutors and hands their slots to jobs."""
