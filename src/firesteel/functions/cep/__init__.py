"""Event patterns: what users write, and the automaton that a pattern becomes; re-exported by `firesteel.cep`."""
