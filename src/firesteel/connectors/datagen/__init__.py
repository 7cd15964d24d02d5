"""The table connector `datagen`."""
