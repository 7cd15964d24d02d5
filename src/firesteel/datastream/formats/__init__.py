"""Record formats of sources and sinks (as `pyflink.datastream.formats`)."""
