"""Several sources in sequence (module as `pyflink.datastream.connectors.hybrid_source`)."""

from __future__ import annotations

from firesteel.connectors.hybrid_source import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
