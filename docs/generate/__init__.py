"""Generate the parts of the documentation that follow from sources and measurements."""
