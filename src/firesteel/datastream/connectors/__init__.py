"""Sources and sinks of firesteel (as `pyflink.datastream.connectors`)."""

from firesteel.functions.connector_base import DeliveryGuarantee, Sink, Source

__all__ = ["DeliveryGuarantee", "Sink", "Source"]
