"""Pickles, seals and proofs: what is read from others, and how it is checked."""
