"""The DataStream API (as `pyflink.datastream`)."""
