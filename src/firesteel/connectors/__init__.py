"""Connectors: a folder for each, with its source, sink, client and table; `formats` has one folder per format.

The public modules `firesteel.datastream.connectors` and `firesteel.datastream.formats` re-export what PyFlink has.
"""
