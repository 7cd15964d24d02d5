"""Base classes of sources and sinks (module as `pyflink.datastream.connectors.base`)."""

from __future__ import annotations

from firesteel.functions.connector_base import (
    CommitRequest,
    Committer,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    Source,
    SourceSplit,
    StreamTransformer,
    SupportsPreprocessing,
    WriterInitContext,
)

__all__ = [
    "CommitRequest",
    "Committer",
    "DeliveryGuarantee",
    "Sink",
    "SinkWriter",
    "Source",
    "SourceSplit",
    "StreamTransformer",
    "SupportsPreprocessing",
    "WriterInitContext",
]
