"""Models: read by name or file, and built into kernel parameters for one person."""
