"""The panel of a run with a device, and its commands."""
