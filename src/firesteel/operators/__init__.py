"""Code that runs inside a task: operators, chains, keyed state, timers, windows, watermarks. Independent of Spark."""
