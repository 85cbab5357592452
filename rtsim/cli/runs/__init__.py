"""Common parts of the commands that run something: options and messages."""
