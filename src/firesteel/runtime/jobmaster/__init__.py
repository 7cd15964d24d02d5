"""The JobMaster owns one job from the first slot request to the terminal state."""
