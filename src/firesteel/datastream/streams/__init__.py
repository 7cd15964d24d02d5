"""The streams behind `data_stream`: their operators, windows, joins, partitioning and sinks."""
