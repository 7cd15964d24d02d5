"""Functions of users and modules: their registration, loading and types."""
