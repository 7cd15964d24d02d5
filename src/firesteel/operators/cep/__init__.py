"""The operator of event patterns, and the automaton's run over the events of a key."""
