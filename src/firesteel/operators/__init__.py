"""What runs inside a task: operators, chains, keyed state, timers, windows, watermarks. Knows no Spark."""
