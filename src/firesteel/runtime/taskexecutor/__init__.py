"""The TaskExecutor owns slots and runs the tasks that JobMasters deploy into them."""
