"""Builds clusters out of control plane and data plane."""

from firesteel.entrypoint.mini_cluster import MiniCluster
from firesteel.entrypoint.spark_session import shared_gateway

__all__ = ["MiniCluster", "shared_gateway"]
