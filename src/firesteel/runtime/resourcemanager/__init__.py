"""The ResourceManager owns all slots: it tracks TaskExecutors and assigns their slots to jobs."""
