"""Assembly of clusters from control plane and data plane."""
