"""Builds clusters out of control plane and data plane."""
