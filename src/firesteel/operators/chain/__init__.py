"""The chain of operators of a subtask: how it is made, fused and run, and what user functions are given."""
