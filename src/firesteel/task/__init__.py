"""The slot process: hosts the subtasks of one slot, their versions, and the socket that Spark's workers talk to."""
