"""Sources and sinks of firesteel (as `pyflink.datastream.connectors`)."""

from firesteel.datastream.connectors.base import DeliveryGuarantee, Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
