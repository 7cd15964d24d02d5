"""When what is deployed where, and what follows from a failure. Pure: nothing here awaits."""
