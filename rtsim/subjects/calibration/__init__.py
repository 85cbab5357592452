"""A subject's model from a static or functional trial."""
